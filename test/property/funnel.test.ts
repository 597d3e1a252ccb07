import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { FunnelSpec } from '../../src/analysis/funnel-spec.ts'
import { declareFunnel } from '../../src/analysis/funnel.ts'
import type { FunnelCounts } from '../../src/analysis/tally.ts'
import {
  anEvent,
  aPlainSpec,
  aScale,
  aSpec,
  eventsAt,
  names,
  ONE_DAY,
  someEvents,
  specAt,
  type Scale,
} from '../support/any-funnel.ts'
import { daysOf, type TestEvent } from '../support/columns.ts'
import { foldFunnel, readBy, told } from '../support/fold-funnel.ts'
import { slowFunnel } from '../support/funnel-oracle.ts'
import { usersOf } from '../support/slow-chains.ts'

const counted = (spec: FunnelSpec, events: readonly TestEvent[]) => told(foldFunnel(spec, events))
const fold = (spec: FunnelSpec, events: readonly TestEvent[], scale: Scale) =>
  counted(specAt(scale, spec), eventsAt(scale, events))
const slow = (spec: FunnelSpec, events: readonly TestEvent[], scale: Scale) =>
  slowFunnel(specAt(scale, spec), eventsAt(scale, events))

test('plain counts, broken down or not, are what the definition says', () => {
  fc.assert(
    fc.property(aPlainSpec, someEvents(16), aScale, (spec, events, scale) => {
      expect(fold(spec, events, scale)).toEqual(slow(spec, events, scale))
    }),
    { numRuns: 3_000 },
  )
})

test('counts with any options are what the definition says', () => {
  fc.assert(
    fc.property(aSpec, someEvents(14), aScale, (spec, events, scale) => {
      expect(fold(spec, events, scale)).toEqual(slow(spec, events, scale))
    }),
    { numRuns: 6_000 },
  )
})

const tiedOfOne = fc.array(
  anEvent.map((event) => ({ ...event, user: 'u1', timeMs: event.timeMs % 3 })),
  { maxLength: 7, size: 'max' },
)

test('many events of one moment are matched as the definition says', () => {
  fc.assert(
    fc.property(fc.oneof(aPlainSpec, aSpec), tiedOfOne, aScale, (spec, events, scale) => {
      expect(fold(spec, events, scale)).toEqual(slow(spec, events, scale))
    }),
    { numRuns: 3_000 },
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
    fc.property(fc.oneof(aPlainSpec, aSpec), tied, aScale, (spec, events, scale) => {
      expect(fold(spec, events, scale)).toEqual(slow(spec, events, scale))
    }),
  )
})

test('more than eight steps are counted as the definition says', () => {
  const stepOf = (name: string) => ({
    matchers: [{ eventName: name, where: [] }],
    ...{ isOptional: false, firstTime: null },
  })
  const longSpec = fc
    .tuple(
      fc.oneof(aPlainSpec, aSpec),
      fc.array(fc.constantFrom(...names), { minLength: 9, maxLength: 12 }),
    )
    .map(([spec, of]) => ({
      ...{ ...spec, steps: of.map(stepOf), exclude: [] },
      breakdown: spec.breakdown && { ...spec.breakdown, step: 0 },
    }))
  const inTurn = fc.array(anEvent, { minLength: 8, maxLength: 11, size: 'max' }).map((events) =>
    // Of one user, for long chains to be met.
    events.map((event) => ({ ...event, user: 'u1' })),
  )
  fc.assert(
    fc.property(longSpec, inTurn, aScale, (spec, events, scale) => {
      expect(fold(spec, events, scale)).toEqual(slow(spec, events, scale))
    }),
    { numRuns: 300 },
  )
})

const anySpec = fc.oneof(aPlainSpec, aSpec)

test('the order of arrival does not matter, nor how events of a name are spread over runs', () => {
  fc.assert(
    fc.property(
      anySpec,
      shuffledPairs(someEvents(18)),
      aScale,
      (spec, [events, shuffled], scale) => {
        expect(fold(spec, shuffled, scale)).toEqual(fold(spec, events, scale))
        const ofOneRun = events.map((event) => ({ ...event, part: 0 }))
        expect(fold(spec, ofOneRun, scale)).toEqual(fold(spec, events, scale))
      },
    ),
  )
})

test('the values of a breakdown, and the intervals of a trend, add up to the whole at every step', () => {
  const split = anySpec.map((spec) => {
    const attribution = spec.breakdown?.attribution ?? 'first'
    return {
      ...{ ...spec, trendStartsMs: [-10, 2, 5, 50] },
      breakdown: {
        ...{ property: 'k', step: 0, limit: 1 },
        // With `every` a user may be of several.
        attribution: attribution === 'every' ? 'last' : attribution,
      },
    }
  })
  fc.assert(
    fc.property(split, someEvents(18), aScale, (spec, events, scale) => {
      const { result } = declareFunnel(spec)
      const { steps, breakdown, trend } = result(
        foldFunnel(specAt(scale, spec), eventsAt(scale, events)),
      )
      const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0)
      steps.forEach(({ users }, step) => {
        expect(sum(breakdown!.map((entry) => entry.steps[step]!.users))).toBe(users)
        expect(sum(trend!.map((interval) => interval[step]!.users))).toBe(users)
      })
    }),
  )
})

test('merge is associative and commutative, and empty is neutral', () => {
  fc.assert(
    fc.property(
      anySpec,
      fc.tuple(someEvents(12), someEvents(12), someEvents(12)),
      (spec, parts) => {
        const { merge, empty } = declareFunnel(spec)
        const [a, b, c] = parts.map((events) => foldFunnel(spec, events)) as [
          FunnelCounts,
          FunnelCounts,
          FunnelCounts,
        ]
        expect(told(merge(merge(a, b), c))).toEqual(told(merge(a, merge(b, c))))
        expect(told(merge(a, b))).toEqual(told(merge(b, a)))
        expect(told(merge(empty(), a))).toEqual(told(a))
      },
    ),
  )
})

test('spreading the users over fold groups changes nothing', () => {
  fc.assert(
    fc.property(anySpec, someEvents(18), aScale, (unscaled, unscaledEvents, scale) => {
      const spec = specAt(scale, unscaled)
      const events = eventsAt(scale, unscaledEvents)
      const { openGroup, merge, empty } = declareFunnel(spec)
      // One funnel for all groups: what it uses again must not show.
      const foldGroup = (user: string) => {
        const group = openGroup(1)
        const ofUser = events.filter((event) => event.user === user)
        for (const day of daysOf(ofUser, readBy(spec), [user])) group.fold(day)
        return group.close()
      }
      const merged = usersOf(events).map(foldGroup).reduce(merge, empty())
      expect(told(merged)).toEqual(counted(spec, events))
    }),
  )
})

test('spreading the events over days changes nothing', () => {
  // Silences between sessions are of some length, and times between steps are told.
  const scaleless = anySpec.map((spec) => ({
    ...{ ...spec, timeToConvert: false },
    count: spec.count === 'sessions' ? ('users' as const) : spec.count,
  }))
  fc.assert(
    fc.property(scaleless, someEvents(18), aScale, (spec, events, scale) => {
      expect(fold(spec, events, scale)).toEqual(fold(spec, events, ONE_DAY))
    }),
  )
})

function shuffledPairs<T>(lists: fc.Arbitrary<T[]>): fc.Arbitrary<[T[], T[]]> {
  return lists.chain((list) =>
    fc.tuple(
      fc.constant(list),
      fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length }),
    ),
  )
}
