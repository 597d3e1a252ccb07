import fc from 'fast-check'
import type { Condition } from '../../src/analysis/condition.ts'
import { PLAIN, type FunnelSpec, type FunnelStep } from '../../src/analysis/funnel-spec.ts'
import type { EventMatcher } from '../../src/analysis/step-mask.ts'
import { DAY_MS } from '../../src/event/day.ts'
import { SESSION_ID_PATH } from '../../src/segment/columns.ts'
import type { TestEvent } from './columns.ts'

// Few names, users and moments, so that ties, repeats and window ends are met all the time.
export const names = ['a', 'b', 'c']
const valuesOf = { k: ['x', 'y', 1, '1', true], n: [9, 10, '10'] }

export const anEvent: fc.Arbitrary<TestEvent> = fc
  .record({
    user: fc.constantFrom('u1', 'u2', 'u3'),
    event: fc.constantFrom(...names),
    timeMs: fc.nat(9),
    // Spreads a name over several runs, so that it has equal times in one and across them.
    part: fc.nat(2),
    properties: fc.record(
      {
        k: fc.constantFrom(...valuesOf.k),
        n: fc.constantFrom(...valuesOf.n),
        session: fc.constantFrom('s', 't'),
      },
      { requiredKeys: [] },
    ),
  })
  .map(({ properties: { session, ...properties }, ...event }) => ({
    ...event,
    properties: {
      ...properties,
      ...(session === undefined ? {} : { [SESSION_ID_PATH]: session }),
    },
  }))

/** In arrival order, which is any: runs are sorted by time only. */
export const someEvents = (maxLength: number): fc.Arbitrary<TestEvent[]> =>
  fc.array(anEvent, { maxLength, size: 'max' })

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

const aStep: fc.Arbitrary<FunnelStep> = fc
  .oneof(
    { weight: 4, arbitrary: aMatcher.map((matcher) => [matcher]) },
    fc.array(aMatcher, { minLength: 2, maxLength: 3 }),
  )
  .map((matchers) => ({ matchers, isOptional: false, firstTime: null }))

/** Of ranges that bound entries, or all steps. */
const aRange = fc
  .record({
    entryStartMs: fc.constantFrom(0, 0, 0, 0, 1, 3),
    entrySpanMs: fc.constantFrom(20, 20, 20, 20, 0, 2, 4, 6),
    isEntryOnly: fc.boolean(),
  })
  .map(({ entryStartMs, entrySpanMs, isEntryOnly }) => {
    const entryEndMs = entryStartMs + entrySpanMs
    return { entryStartMs, entryEndMs, lastEndMs: isEntryOnly ? Infinity : entryEndMs }
  })

const aWindow = fc.record({ windowMs: fc.oneof(fc.nat(9), fc.constant(6_048_000_000_000_000)) })

const aBreakdown = (attributions: readonly ('first' | 'last' | 'step' | 'every')[]) =>
  fc.record({
    breakdown: fc.option(
      fc.record({
        property: fc.constantFrom('k', 'k', 'k', 'absent'),
        attribution: fc.constantFrom(...attributions),
        step: fc.constant(0),
        limit: fc.constant(2),
      }),
    ),
  })

const steps = (maxLength: number) =>
  fc.record({ steps: fc.array(aStep, { minLength: 1, maxLength, size: 'max' }) })

const merged = <T extends object[]>(...parts: { [I in keyof T]: fc.Arbitrary<T[I]> }) =>
  fc.tuple(...parts).map((all) => Object.assign({}, ...all) as FunnelSpec)

/** Funnels that are counted without looking at each chain. */
export const aPlainSpec: fc.Arbitrary<FunnelSpec> = merged(
  fc.constant(PLAIN),
  ...[steps(5), aWindow, aRange, aBreakdown(['first', 'step'])],
)

/** Funnels with any options. */
export const aSpec: fc.Arbitrary<FunnelSpec> = merged(
  fc.constant(PLAIN),
  ...[steps(4), aWindow, aRange, aBreakdown(['first', 'last', 'step', 'every'])],
  fc.record({
    order: fc.constantFrom('ordered' as const, 'strict' as const, 'any' as const),
    entry: fc.constantFrom('best' as const, 'best' as const, 'first' as const),
    count: fc.constantFrom(
      'users' as const,
      'users' as const,
      'attempts' as const,
      'sessions' as const,
    ),
    hold: fc.constantFrom([], [], [], ['k'], ['k', 'n']),
    timeToConvert: fc.boolean(),
    trendStartsMs: fc.option(fc.constantFrom([-10, 2, 5, 50], [0, 50])),
  }),
).chain(withBits)

/** Adds what is said of single steps, and what is excluded between two of them. */
function withBits(spec: FunnelSpec): fc.Arbitrary<FunnelSpec> {
  const stepCount = spec.steps.length
  const bits = fc.record({
    isOptional: fc.constantFrom(false, false, true),
    firstTime: fc.constantFrom(null, null, null, null, 'event' as const, 'matching' as const),
  })
  const exclusion = fc.record({
    matchers: aMatcher.map((matcher) => [matcher]),
    afterStep: fc.nat(Math.max(0, stepCount - 2)),
    gap: fc.integer({ min: 1, max: stepCount }),
  })
  return fc
    .record({
      ofSteps: fc.array(bits, { minLength: stepCount, maxLength: stepCount }),
      step: fc.nat(stepCount - 1),
      excluded: fc.array(exclusion, { maxLength: stepCount < 2 ? 0 : 2 }),
    })
    .map(({ ofSteps, step, excluded }) => {
      const steps = spec.steps.map(({ matchers }, index) => ({
        ...{ matchers, firstTime: ofSteps[index]!.firstTime },
        // In any order there is nothing to leave out.
        isOptional: index > 0 && spec.order !== 'any' && ofSteps[index]!.isOptional,
      }))
      const exclude = excluded.map(({ matchers, afterStep, gap }) => ({
        ...{ matchers, afterStep, beforeStep: Math.min(stepCount - 1, afterStep + gap) },
      }))
      return { ...spec, steps, exclude, breakdown: spec.breakdown && { ...spec.breakdown, step } }
    })
}

/** How long one moment of the events above is, and when moment 0 is: all in one day, or over several. */
export interface Scale {
  readonly unitMs: number
  readonly startMs: number
}

export const ONE_DAY: Scale = { unitMs: 1, startMs: 0 }
export const aScale: fc.Arbitrary<Scale> = fc.record({
  // So that silences between sessions are met, too.
  unitMs: fc.constantFrom(1, 10 * 60_000, DAY_MS / 4, DAY_MS, 3 * DAY_MS),
  startMs: fc.constantFrom(0, DAY_MS - 5, -5, 20_000 * DAY_MS - 1),
})

export const eventsAt = ({ unitMs, startMs }: Scale, events: readonly TestEvent[]): TestEvent[] =>
  events.map((event) => ({ ...event, timeMs: startMs + event.timeMs * unitMs }))

export const specAt = ({ unitMs, startMs }: Scale, spec: FunnelSpec): FunnelSpec => ({
  ...spec,
  windowMs: spec.windowMs * unitMs,
  entryStartMs: startMs + spec.entryStartMs * unitMs,
  entryEndMs: startMs + spec.entryEndMs * unitMs,
  lastEndMs: startMs + spec.lastEndMs * unitMs,
  trendStartsMs: spec.trendStartsMs && spec.trendStartsMs.map((ms) => startMs + ms * unitMs),
})
