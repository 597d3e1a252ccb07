import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Condition } from '../../src/analysis/condition.ts'
import { DAY_MS } from '../../src/event/day.ts'
import { declareFunnel, propertiesOf, type FunnelSpec } from '../../src/analysis/funnel.ts'
import type { EventMatcher, Step } from '../../src/analysis/step-mask.ts'
import { daysOf, type TestEvent } from '../support/columns.ts'
import { foldFunnel, slowFunnel, usersOf } from '../support/funnel-oracle.ts'

// Few names, users and moments, so that ties, repeats and window ends are met all the time.
const names = ['a', 'b', 'c']
const valuesOf = { k: ['x', 'y', 1, '1', true], n: [9, 10, '10'] }

const anEvent: fc.Arbitrary<TestEvent> = fc.record({
  user: fc.constantFrom('u1', 'u2', 'u3'),
  event: fc.constantFrom(...names),
  timeMs: fc.nat(9),
  // Spreads a name over several runs, so that it has equal times in one and across them.
  part: fc.nat(2),
  properties: fc.record(
    { k: fc.constantFrom(...valuesOf.k), n: fc.constantFrom(...valuesOf.n) },
    { requiredKeys: [] },
  ),
})

// In arrival order, which is any: runs are sorted by time only.
const someEvents = fc.array(anEvent, { maxLength: 18, size: 'max' })

const aCondition: fc.Arbitrary<Condition> = fc.constantFrom<Condition>(
  { property: 'k', op: 'eq', value: 1 },
  { property: 'k', op: 'ne', value: 'x' },
  { property: 'k', op: 'isSet' },
  { property: 'n', op: 'gte', value: 10 },
  { property: 'absent', op: 'isNotSet' },
  { property: 'absent', op: 'eq', value: 'x' },
)

const aMatcher: fc.Arbitrary<EventMatcher> = fc.record({
  eventName: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names) }, fc.constant(null)),
  where: fc.oneof(
    { weight: 6, arbitrary: fc.constant([]) },
    fc.array(aCondition, { minLength: 1, maxLength: 2 }),
  ),
})

const aStep: fc.Arbitrary<Step> = fc.record({
  matchers: fc.oneof(
    { weight: 4, arbitrary: aMatcher.map((matcher) => [matcher]) },
    fc.array(aMatcher, { minLength: 2, maxLength: 3 }),
  ),
})

const aSpec: fc.Arbitrary<FunnelSpec> = fc
  .record({
    steps: fc.array(aStep, { minLength: 1, maxLength: 5, size: 'max' }),
    windowMs: fc.oneof(fc.nat(9), fc.constant(6_048_000_000_000_000)),
    entryStartMs: fc.constantFrom(0, 0, 0, 0, 1, 3),
    entrySpanMs: fc.constantFrom(20, 20, 20, 20, 0, 2, 4, 6),
    isEntryOnly: fc.boolean(),
    breakdown: fc.constantFrom(null, { property: 'k', limit: 2 }, { property: 'absent', limit: 2 }),
  })
  .map(({ entrySpanMs, isEntryOnly, ...spec }) => {
    const entryEndMs = spec.entryStartMs + entrySpanMs
    return { ...spec, entryEndMs, lastEndMs: isEntryOnly ? Infinity : entryEndMs }
  })

/** How long one moment of the events above is, and when moment 0 is: all in one day, or over several. */
interface Scale {
  readonly unitMs: number
  readonly startMs: number
}

const ONE_DAY: Scale = { unitMs: 1, startMs: 0 }
const aScale: fc.Arbitrary<Scale> = fc.record({
  unitMs: fc.constantFrom(1, DAY_MS / 4, DAY_MS, 3 * DAY_MS),
  startMs: fc.constantFrom(0, DAY_MS - 5, -5, 20_000 * DAY_MS - 1),
})

const eventsAt = ({ unitMs, startMs }: Scale, events: readonly TestEvent[]): TestEvent[] =>
  events.map((event) => ({ ...event, timeMs: startMs + event.timeMs * unitMs }))

const specAt = ({ unitMs, startMs }: Scale, spec: FunnelSpec): FunnelSpec => ({
  ...spec,
  windowMs: spec.windowMs * unitMs,
  entryStartMs: startMs + spec.entryStartMs * unitMs,
  entryEndMs: startMs + spec.entryEndMs * unitMs,
  lastEndMs: startMs + spec.lastEndMs * unitMs,
})

const fold = (spec: FunnelSpec, events: readonly TestEvent[], scale: Scale): Counts =>
  foldFunnel(specAt(scale, spec), eventsAt(scale, events))

test('the counts, broken down or not, are what the definition says', () => {
  fc.assert(
    fc.property(aSpec, someEvents, aScale, (spec, events, scale) => {
      expect(fold(spec, events, scale)).toEqual(slowFunnel(spec, events))
    }),
    { numRuns: 5_000 },
  )
})

test('many events of one moment are matched as the definition says', () => {
  const tied = fc.array(
    anEvent.map((event) => ({ ...event, user: 'u1', timeMs: event.timeMs % 2 })),
    { maxLength: 9, size: 'max' },
  )
  fc.assert(
    fc.property(aSpec, tied, aScale, (spec, events, scale) => {
      expect(fold(spec, events, scale)).toEqual(slowFunnel(spec, events))
    }),
    { numRuns: 2_000 },
  )
})

test('many users of one moment are told apart', () => {
  const tied = fc.array(
    fc
      .tuple(anEvent, fc.nat(40))
      .map(([event, user]) => ({ ...event, user: `u${user}`, timeMs: event.timeMs % 2 })),
    { minLength: 15, maxLength: 40, size: 'max' },
  )
  fc.assert(
    fc.property(aSpec, tied, aScale, (spec, events, scale) => {
      expect(fold(spec, events, scale)).toEqual(slowFunnel(spec, events))
    }),
  )
})

test('more than eight steps are counted as the definition says', () => {
  const stepOf = (name: string): Step => ({ matchers: [{ eventName: name, where: [] }] })
  const longSpec = fc
    .tuple(aSpec, fc.array(fc.constantFrom(...names), { minLength: 9, maxLength: 12 }))
    .map(([spec, of]) => ({ ...spec, steps: of.map(stepOf) }))
  const inTurn = fc.array(anEvent, { minLength: 8, maxLength: 14, size: 'max' }).map((events) =>
    // Of one user, for long chains to be met.
    events.map((event) => ({ ...event, user: 'u1' })),
  )
  fc.assert(
    fc.property(longSpec, inTurn, aScale, (spec, events, scale) => {
      expect(fold(spec, events, scale)).toEqual(slowFunnel(spec, events))
    }),
    { numRuns: 500 },
  )
})

test('the order of arrival does not matter, nor how events of a name are spread over runs', () => {
  fc.assert(
    fc.property(aSpec, shuffledPairs(someEvents), aScale, (spec, [events, shuffled], scale) => {
      expect(fold(spec, shuffled, scale)).toEqual(fold(spec, events, scale))
      const ofOneRun = events.map((event) => ({ ...event, part: 0 }))
      expect(fold(spec, ofOneRun, scale)).toEqual(fold(spec, events, scale))
    }),
  )
})

test('the values of a breakdown add up to the whole at every step', () => {
  const brokenDown = aSpec.map((spec) => ({ ...spec, breakdown: { property: 'k', limit: 1 } }))
  fc.assert(
    fc.property(brokenDown, someEvents, aScale, (spec, events, scale) => {
      const { result } = declareFunnel(spec)
      const { steps, breakdown } = result(fold(spec, events, scale))
      steps.forEach(({ users }, step) => {
        const parts = breakdown!.map((entry) => entry.steps[step]!.users)
        expect(parts.reduce((sum, part) => sum + part, 0)).toBe(users)
      })
    }),
  )
})

test('merge is associative and commutative, and empty is neutral', () => {
  fc.assert(
    fc.property(aSpec, fc.tuple(someEvents, someEvents, someEvents), (spec, parts) => {
      const { merge, empty } = declareFunnel(spec)
      const [a, b, c] = parts.map((events) => foldFunnel(spec, events)) as [Counts, Counts, Counts]
      expect(merge(merge(a, b), c)).toEqual(merge(a, merge(b, c)))
      expect(merge(a, b)).toEqual(merge(b, a))
      expect(merge(empty(), a)).toEqual(a)
    }),
  )
})

test('spreading the users over fold groups changes nothing', () => {
  fc.assert(
    fc.property(aSpec, someEvents, aScale, (unscaled, unscaledEvents, scale) => {
      const spec = specAt(scale, unscaled)
      const events = eventsAt(scale, unscaledEvents)
      const { openGroup, merge, empty } = declareFunnel(spec)
      // One funnel for all groups: what it uses again must not show.
      const foldGroup = (user: string) => {
        const group = openGroup(1)
        const ofUser = events.filter((event) => event.user === user)
        for (const day of daysOf(ofUser, propertiesOf(spec), [user])) group.fold(day)
        return group.close()
      }
      const merged = usersOf(events).map(foldGroup).reduce(merge, empty())
      expect(merged).toEqual(foldFunnel(spec, events))
    }),
  )
})

test('spreading the events over days changes nothing', () => {
  fc.assert(
    fc.property(aSpec, someEvents, aScale, (spec, events, scale) => {
      expect(fold(spec, events, scale)).toEqual(fold(spec, events, ONE_DAY))
    }),
  )
})

type Counts = ReturnType<typeof foldFunnel>

function shuffledPairs<T>(lists: fc.Arbitrary<T[]>): fc.Arbitrary<[T[], T[]]> {
  return lists.chain((list) =>
    fc.tuple(
      fc.constant(list),
      fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length }),
    ),
  )
}
