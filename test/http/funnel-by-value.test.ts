import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { declareFunnel } from '../../src/analysis/funnel.ts'
import type { Value } from '../../src/segment/columns.ts'
import type { TestEvent } from '../support/columns.ts'
import { specOf, type FunnelCase, type FunnelRequest } from '../support/funnel-cases.ts'
import { foldFunnel } from '../support/fold-funnel.ts'
import { byValue } from '../support/funnel-oracle.ts'
import type { FunnelUsersPage } from '../../src/query/funnel-users.ts'
import { send } from '../support/http-client.ts'
import { openTestService, usersOf } from '../support/service.ts'

const service = await openTestService()
const { testKeyspace } = service
// The same data, asked where hardly anything fits in memory: many passes.
const small = await openTestService({ QUERY_MEMORY_MB: 0.006 }, { testKeyspace })

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const START_MS = (Math.floor(Date.now() / DAY_MS) - 9) * DAY_MS

describe('a funnel counted by a property', async () => {
  const project = await service.createProject()
  const at = (hours: number) => START_MS + hours * HOUR_MS
  await project.store([
    { event: 'view', userId: 'a', time: at(0), properties: { org: 7, country: 'DE' } },
    { event: 'buy', userId: 'b', time: at(30), properties: { org: '7', country: 'FR' } },
    { event: 'view', userId: 'b', time: at(1), properties: { org: 'acme', country: 'DE' } },
    { event: 'view', userId: 'b', time: at(2), properties: { org: 'acme', country: 'US' } },
    { event: 'view', userId: 'c', time: at(3), properties: { org: null, country: 'US' } },
    { event: 'buy', userId: 'c', time: at(4) },
    { event: 'buy', userId: 'd', time: at(5), properties: { org: ['acme'] } },
  ])
  const query = { steps: [{ event: 'view' }, { event: 'buy' }], count: { property: 'org' } }

  test.each(['segments', 'events'])('counts its values across users, by %s', async (source) => {
    const answer = await project.funnel({ ...query, source, breakdown: { property: 'country' } })
    expect(answer).toMatchObject({ unit: 'org', warnings: [], source })
    expect(answer.definition).toMatch(/^Values of org, across users, by their longest chain .*\.$/)
    expect(usersOf(answer)).toEqual([2, 1])
    expect(answer.breakdown!.map(({ value, steps }) => [value, usersOf({ steps })])).toEqual([
      ['DE', [2, 1]],
    ])
    const soon = await project.funnel({ ...query, source, windowMs: 30 * HOUR_MS - 1 })
    expect(usersOf(soon)).toEqual([2, 0])
  })

  test('counts users when it is told to', async () => {
    const answer = await project.funnel({ ...query, count: 'users' })
    expect(answer.unit).toBe('users')
    expect(usersOf(answer)).toEqual([3, 2])
  })

  test.each(['segments', 'events'])('is zeros where nothing has it, by %s', async (source) => {
    const answer = await project.funnel({ ...query, source, count: { property: 'absent' } })
    expect(usersOf(answer)).toEqual([0, 0])
  })
})

test('a property beyond the columns of segments is told of, and counted from raw rows', async () => {
  const project = await service.createProject()
  const many = Object.fromEntries(Array.from({ length: 230 }, (_, index) => [`p${index}`, 1]))
  await project.store([{ event: 'view', userId: 'a', properties: { ...many, zorg: 'x' } }])
  const query = { steps: [{ event: 'view' }], count: { property: 'zorg' } }
  const [sealed, raw] = [
    await project.funnel(query),
    await project.funnel({ ...query, source: 'events' }),
  ]
  expect([usersOf(sealed), sealed.warnings]).toEqual([
    [0],
    [expect.stringContaining('source "events"')],
  ])
  expect([usersOf(raw), raw.warnings]).toEqual([[1], []])
})

const names = ['view', 'cart', 'buy']
const anEvent: fc.Arbitrary<TestEvent> = fc.record({
  user: fc.nat(30).map(String),
  event: fc.constantFrom(...names),
  // Few moments, so that events of one value share them.
  timeMs: fc
    .tuple(fc.nat(7), fc.nat(5))
    .map(([day, moment]) => START_MS + day * DAY_MS + moment * 4 * HOUR_MS),
  properties: fc.record(
    {
      org: fc.oneof(
        fc.constantFrom<Value>(1, '1', 2.5, '2.5', true, 'true', '', 'Ünïcode 😀'),
        fc.nat(60).map((org) => `o${org}`),
      ),
      plan: fc.constantFrom<Value>('free', 'pro', 1, '1'),
    },
    { requiredKeys: [] },
  ),
})
const aBatch = fc.array(anEvent, { minLength: 1, maxLength: 150, size: 'max' })
const aStep = fc.record({
  event: fc.constantFrom(...names),
  where: fc.constantFrom(...[[], [], [{ property: 'plan', value: 1 }]], [
    { property: 'org', op: 'startsWith' as const, value: 'o1' },
  ]),
})
const aQuestion: fc.Arbitrary<FunnelRequest & { count: { property: string } }> = fc
  .record({
    steps: fc.array(aStep, { minLength: 1, maxLength: 4 }),
    windowMs: fc.constantFrom(0, 8 * HOUR_MS, DAY_MS, 3 * DAY_MS, 40 * DAY_MS),
    from: fc.nat(5).map((days) => START_MS + days * DAY_MS + HOUR_MS),
    days: fc.integer({ min: 1, max: 9 }),
    rangeBounds: fc.constantFrom('entry' as const, 'all' as const),
    count: fc.constantFrom({ property: 'org' }, { property: 'plan' }),
    breakdown: fc.constantFrom(...[undefined, { property: 'plan' }, { property: 'org', limit: 5 }]),
  })
  .map(({ days, breakdown, ...question }) => ({
    ...question,
    to: question.from + days * DAY_MS,
    ...(breakdown && {
      breakdown: { ...breakdown, attribution: 'step' as const, step: 1 as const },
    }),
  }))

test('segments, in few passes and in many, and raw rows count what the events say', async () => {
  const project = await service.createProject()
  const history: TestEvent[] = []
  await fc.assert(
    fc.asyncProperty(aBatch, aQuestion, async (batch, question) => {
      await project.store(
        batch.map(({ user, event, timeMs, properties }) => ({
          ...{ event, userId: user, time: timeMs, properties },
        })),
      )
      history.push(...batch)
      const spec = specOf({ funnel: question } as FunnelCase)
      const { property } = question.count
      const expected = declareFunnel(spec).result(foldFunnel(spec, byValue(history, property)))
      const answers = await Promise.all([
        project.funnel(question),
        project.at(small).funnel(question),
        project.funnel({ ...question, source: 'events' }),
      ])
      for (const { steps, breakdown } of answers) {
        expect(usersOf({ steps })).toEqual(usersOf(expected))
        expect(breakdown?.map(({ value, ...part }) => [value, usersOf(part)])).toEqual(
          expected.breakdown?.map(({ value, ...part }) => [value, usersOf(part)]),
        )
      }
    }),
    { numRuns: 20, endOnFailure: true },
  )
  const all = { steps: names.map((event) => ({ event })), count: { property: 'org' } }
  const [few, many] = [await project.funnel(all), await project.at(small).funnel(all)]
  expect(many.read.events).toBeGreaterThan(3 * few.read.events)
  const bar = { ...all, freshness: 'now', step: 1, outcome: 'converted', limit: 20 }
  const listed = await Promise.all(
    [service, small].map(({ url }) => valuesOf(url, project.readKey, bar)),
  )
  expect(listed[0]).toHaveLength(few.steps[0]!.users)
  expect(listed[1]).toEqual(listed[0])
})

/** The values of all pages. */
async function valuesOf(url: string, key: string, question: object): Promise<string[]> {
  const values: string[] = []
  let cursor: object = {}
  for (;;) {
    const answer = await send(`${url}/v1/funnels/users`, { key, body: { ...question, ...cursor } })
    const page = answer.json<FunnelUsersPage>()
    values.push(...page.users.map(({ userId }) => userId))
    if (page.cursor === undefined) return values
    cursor = { cursor: page.cursor }
  }
}
