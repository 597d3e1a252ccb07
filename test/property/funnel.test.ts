import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Condition } from '../../src/analysis/condition.ts'
import { declareFunnel, propertiesOf, type FunnelSpec } from '../../src/analysis/funnel.ts'
import type { EventMatcher, Step } from '../../src/analysis/step-mask.ts'
import { columnsOf, type TestEvent } from '../support/columns.ts'
import { foldFunnel, slowFunnel, usersOf } from '../support/funnel-oracle.ts'

// Few names, users and moments, so that ties, repeats and window ends are met all the time.
const names = ['a', 'b', 'c']
const valuesOf = { k: ['x', 'y', 1, '1', true], n: [9, 10, '10'] }

const anEvent: fc.Arbitrary<TestEvent> = fc.record({
  user: fc.constantFrom('u1', 'u2', 'u3'),
  event: fc.constantFrom(...names),
  timeMs: fc.nat(9),
  properties: fc.record(
    { k: fc.constantFrom(...valuesOf.k), n: fc.constantFrom(...valuesOf.n) },
    { requiredKeys: [] },
  ),
})

// In arrival order, which is any: columns are sorted by time only.
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

test('the counts, broken down or not, are what the definition says', () => {
  fc.assert(
    fc.property(aSpec, someEvents, (spec, events) => {
      expect(foldFunnel(spec, events)).toEqual(slowFunnel(spec, events))
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
    fc.property(aSpec, tied, (spec, events) => {
      expect(foldFunnel(spec, events)).toEqual(slowFunnel(spec, events))
    }),
    { numRuns: 2_000 },
  )
})

test('the order of arrival does not matter', () => {
  fc.assert(
    fc.property(aSpec, shuffledPairs(someEvents), (spec, [events, shuffled]) => {
      expect(foldFunnel(spec, shuffled)).toEqual(foldFunnel(spec, events))
    }),
  )
})

test('the values of a breakdown add up to the whole at every step', () => {
  const brokenDown = aSpec.map((spec) => ({ ...spec, breakdown: { property: 'k', limit: 1 } }))
  fc.assert(
    fc.property(brokenDown, someEvents, (spec, events) => {
      const { result } = declareFunnel(spec)
      const { steps, breakdown } = result(foldFunnel(spec, events))
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
    fc.property(aSpec, someEvents, (spec, events) => {
      const { merge, empty } = declareFunnel(spec)
      const groups = usersOf(events).map((user) => events.filter((event) => event.user === user))
      const merged = groups.map((group) => foldFunnel(spec, group)).reduce(merge, empty())
      expect(merged).toEqual(foldFunnel(spec, events))
    }),
  )
})

test('folding a group in several calls, each later than the one before, changes nothing', () => {
  fc.assert(
    fc.property(aSpec, someEvents, fc.nat(10), fc.nat(10), (spec, events, cutMs, otherCutMs) => {
      const users = usersOf(events)
      const group = declareFunnel(spec).openGroup(users.length)
      const cuts = [-Infinity, Math.min(cutMs, otherCutMs), Math.max(cutMs, otherCutMs), Infinity]
      cuts.slice(1).forEach((endMs, index) => {
        const slab = events.filter(({ timeMs }) => timeMs >= cuts[index]! && timeMs < endMs)
        group.fold(columnsOf(slab, propertiesOf(spec), users))
      })
      expect(group.close()).toEqual(foldFunnel(spec, events))
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
