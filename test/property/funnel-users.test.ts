import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  declareFunnelUsers,
  type AfterUser,
  type UsersAsked,
} from '../../src/analysis/funnel-users.ts'
import type { FunnelSpec } from '../../src/analysis/funnel-spec.ts'
import { aPlainSpec, aScale, aSpec, eventsAt, someEvents, specAt } from '../support/any-funnel.ts'
import { daysOf } from '../support/columns.ts'
import { foldFunnel, foldFunnelUsers, readBy } from '../support/fold-funnel.ts'
import { slowFunnelUsers } from '../support/funnel-oracle.ts'
import { usersOf } from '../support/slow-chains.ts'

const anySpec = fc.oneof(aPlainSpec, aSpec)
const brokenDown = anySpec.map((spec) => ({
  ...spec,
  breakdown: spec.breakdown ?? { property: 'k', attribution: 'last' as const, step: 0, limit: 1 },
}))

const someValues = fc.option(
  fc.record({
    texts: fc.uniqueArray(fc.constantFrom('x', 'y', '1', null), { maxLength: 3 }),
    areAmong: fc.boolean(),
  }),
)

/** Every bar that a funnel has. */
function barsOf(spec: FunnelSpec, values: UsersAsked['values']): UsersAsked[] {
  const steps = spec.steps.map((_, index) => index + 1)
  return [
    ...steps.map((step) => ({ spec, step, outcome: 'converted' as const, values })),
    ...steps.slice(1).map((step) => ({ spec, step, outcome: 'dropped' as const, values })),
  ]
}

test('the users, and the times of their chains, are what the definition says', () => {
  fc.assert(
    fc.property(
      brokenDown,
      someValues,
      someEvents(12),
      aScale,
      (unscaled, values, moments, scale) => {
        const [spec, events] = [specAt(scale, unscaled), eventsAt(scale, moments)]
        for (const asked of barsOf(spec, values)) {
          const listed = foldFunnelUsers(asked, events)
          // A user's own are in the order of their units, of which several may begin at once.
          expect(sorted(listed)).toEqual(sorted(slowFunnelUsers(asked, events)))
        }
      },
    ),
    { numRuns: 2_000 },
  )
})

test('there are as many users as the funnel counts, in every mode, and of each value', () => {
  fc.assert(
    fc.property(brokenDown, someEvents(18), (spec, events) => {
      const { users, breakdown } = foldFunnel(spec, events)
      const isAnyOptional = spec.steps.some(({ isOptional }) => isOptional)
      const listed = (asked: UsersAsked) => foldFunnelUsers(asked, events).length
      const countedOf = ({ step, outcome }: UsersAsked, counts: readonly number[]) =>
        outcome === 'converted' ? counts[step - 1]! : counts[step - 2]! - counts[step - 1]!
      for (const asked of barsOf(spec, null)) {
        // Where steps may be left out, there is no bar between two of them.
        if (isAnyOptional && asked.outcome === 'dropped') continue
        expect(listed(asked)).toBe(countedOf(asked, users))
        for (const [text, counts] of breakdown!) {
          const values = { texts: [text], areAmong: true }
          expect(listed({ ...asked, values })).toBe(countedOf(asked, counts.users))
        }
      }
    }),
    { numRuns: 1_000 },
  )
})

test('pages of any size add up to the whole', () => {
  fc.assert(
    fc.property(anySpec, someEvents(18), fc.integer({ min: 1, max: 3 }), (spec, events, limit) => {
      const asked: UsersAsked = { spec, step: 1, outcome: 'converted', values: null }
      const users = usersOf(events)
      // One for all pages: what it uses again must not show.
      const { openGroup } = declareFunnelUsers(asked)
      const pageAfter = (after: AfterUser | null, count: number) => {
        const group = openGroup(users.length)
        for (const day of daysOf(events, readBy(spec), users)) group.fold(day)
        return group.close(after, count)
      }
      const all = pageAfter(null, Infinity)
      const paged = []
      for (let after: AfterUser | null = null; ; after = paged.at(-1)!) {
        const page = pageAfter(after, limit)
        expect(page.length).toBeLessThanOrEqual(limit)
        if (page.length === 0) break
        paged.push(...page)
      }
      expect(paged).toEqual(all)
    }),
    { numRuns: 1_000 },
  )
})

function sorted<T extends { user: string; enteredMs: number; reachedMs: number }>(
  list: readonly T[],
) {
  return list.toSorted(
    (a, b) =>
      Number(a.user > b.user) - Number(a.user < b.user) ||
      a.enteredMs - b.enteredMs ||
      a.reachedMs - b.reachedMs,
  )
}
