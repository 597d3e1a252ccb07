import fc from 'fast-check'
import { expect, test } from 'vitest'
import { declareFunnelUsers, type UsersAsked } from '../../src/analysis/funnel-users.ts'
import { propertiesOf, type FunnelSpec } from '../../src/analysis/funnel.ts'
import type { Step } from '../../src/analysis/step-mask.ts'
import { DAY_MS } from '../../src/event/day.ts'
import { daysOf, type TestEvent } from '../support/columns.ts'
import { foldFunnel, foldFunnelUsers, slowFunnelUsers, usersOf } from '../support/funnel-oracle.ts'

// Few names, users and moments, some of them of other days, so that ties and repeats are met all the time.
const names = ['a', 'b', 'c']
const anEvent: fc.Arbitrary<TestEvent> = fc.record({
  user: fc.constantFrom('u1', 'u2', 'u3', 'u4'),
  event: fc.constantFrom(...names),
  timeMs: fc.nat(9).map((moment) => moment * (DAY_MS / 4)),
  part: fc.nat(2),
  properties: fc.record({ k: fc.constantFrom('x', 'y', 1) }, { requiredKeys: [] }),
})
const someEvents = fc.array(anEvent, { maxLength: 18, size: 'max' })

const aStep: fc.Arbitrary<Step> = fc
  .array(
    fc.record({
      eventName: fc.constantFrom(...names, null),
      where: fc.constantFrom([], [], [{ property: 'k', op: 'eq' as const, value: 'x' }]),
    }),
    { minLength: 1, maxLength: 2 },
  )
  .map((matchers) => ({ matchers }))

const aSpec: fc.Arbitrary<FunnelSpec> = fc
  .record({
    steps: fc.array(aStep, { minLength: 1, maxLength: 4 }),
    windowMs: fc.nat(9).map((moments) => moments * (DAY_MS / 4)),
    entryStartMs: fc.constantFrom(0, 0, DAY_MS),
    entryEndMs: fc.constantFrom(DAY_MS, 3 * DAY_MS),
    isEntryOnly: fc.boolean(),
  })
  .map(({ isEntryOnly, ...spec }) => ({
    ...{ ...spec, breakdown: { property: 'k', limit: 1 } },
    lastEndMs: isEntryOnly ? Infinity : spec.entryEndMs,
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
    fc.property(aSpec, someValues, someEvents, (spec, values, events) => {
      for (const asked of barsOf(spec, values))
        expect(foldFunnelUsers(asked, events)).toEqual(slowFunnelUsers(asked, events))
    }),
    { numRuns: 2_000 },
  )
})

test('there are as many users as the funnel counts, also of each value', () => {
  fc.assert(
    fc.property(aSpec, someEvents, (spec, events) => {
      const { users, breakdown } = foldFunnel(spec, events)
      const listed = (asked: UsersAsked) => foldFunnelUsers(asked, events).length
      const countedOf = ({ step, outcome }: UsersAsked, counts: readonly number[]) =>
        outcome === 'converted' ? counts[step - 1]! : counts[step - 2]! - counts[step - 1]!
      for (const asked of barsOf(spec, null)) {
        expect(listed(asked)).toBe(countedOf(asked, users))
        for (const [text, counts] of breakdown!) {
          const values = { texts: [text], areAmong: true }
          expect(listed({ ...asked, values })).toBe(countedOf(asked, counts))
        }
      }
    }),
    { numRuns: 500 },
  )
})

test('pages of any size add up to the whole', () => {
  fc.assert(
    fc.property(aSpec, someEvents, fc.integer({ min: 1, max: 3 }), (spec, events, limit) => {
      const asked: UsersAsked = { spec, step: 1, outcome: 'converted', values: null }
      const users = usersOf(events)
      // One for all pages: what it uses again must not show.
      const { openGroup } = declareFunnelUsers(asked)
      const pageAfter = (after: number, count: number) => {
        const group = openGroup(users.length)
        for (const day of daysOf(events, propertiesOf(spec), users)) group.fold(day)
        return group.close(after, count)
      }
      const all = pageAfter(-1, Infinity)
      const paged = []
      for (let after = -1; ; after = paged.at(-1)!.user) {
        const page = pageAfter(after, limit)
        expect(page.length).toBeLessThanOrEqual(limit)
        if (page.length === 0) break
        paged.push(...page)
      }
      expect(paged).toEqual(all)
    }),
  )
})
