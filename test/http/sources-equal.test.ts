import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openTestService, usersOf } from '../support/service.ts'

// Segments are another telling of the raw rows: whatever was stored, in whatever order and however often,
// whatever has been sealed and merged of it by then, and whoever was erased, both answer the same.

const service = await openTestService()
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const START_MS = (Math.floor(Date.now() / DAY_MS) - 40) * DAY_MS
const DAYS = 36
const ROUNDS = 40

const names = ['view', 'cart', 'buy', 'Ünïcode 😀']
const anEvent = fc
  .record({
    id: fc.stringMatching(/^[a-f]{4}$/),
    event: fc.constantFrom(...names),
    // Numbers, texts and devices; few enough that histories grow.
    userId: fc.oneof(fc.nat(40), fc.constantFrom('ada', '007', 'é', 'anon', '4294967296')),
    // Few moments, so that equal times of one user are met; most lie in the last week, some weeks ago.
    time: fc
      .tuple(fc.oneof({ weight: 3, arbitrary: fc.nat(6) }, fc.nat(DAYS)), fc.nat(5))
      .map(([daysAgo, moment]) => START_MS + (DAYS - daysAgo) * DAY_MS + moment * 250 * MINUTE_MS),
    properties: fc.record(
      {
        plan: fc.constantFrom('free', 'pro', 1, '1', true, null),
        n: fc.constantFrom(9, 10, '10', -0.5),
        cart: fc.record({ total: fc.nat(3), 'a.b': fc.constantFrom('x', 'y') }),
      },
      { requiredKeys: [] },
    ),
  })
  // Of copies that differ it is not promised which one stays.
  .map(({ id, ...event }) => ({ ...event, id: `${id} ${JSON.stringify(event)}` }))
const aBatch = fc.array(anEvent, { minLength: 1, maxLength: 60, size: 'max' })

const aCondition = fc.constantFrom(
  { property: 'plan', op: 'eq', value: 1 },
  { property: 'plan', op: 'ne', value: 'free' },
  { property: 'plan', op: 'isSet' },
  { property: 'n', op: 'gte', value: 10 },
  { property: 'cart.total', op: 'between', value: [1, 2] },
  { property: 'cart.a.b', op: 'contains', value: 'X' },
  { property: 'absent', op: 'isNotSet' },
)
const where = fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.tuple(aCondition))
const aStep = fc.oneof(
  fc.record({ event: fc.constantFrom(...names), where }),
  fc.record({ anyOf: fc.tuple(fc.constantFrom(...names), fc.constantFrom(...names)), where }),
  fc.record({ anyEvent: fc.constant(true), where }),
)
const aQuestion = fc
  .record({
    steps: fc.array(aStep, { minLength: 1, maxLength: 5 }),
    windowMs: fc.constantFrom(0, 250 * MINUTE_MS, DAY_MS, 3 * DAY_MS, 40 * DAY_MS),
    from: fc.nat(DAYS).map((days) => START_MS + days * DAY_MS + 60 * MINUTE_MS),
    days: fc.integer({ min: 1, max: DAYS }),
    rangeBounds: fc.constantFrom('entry', 'all'),
    count: fc.constantFrom('users', 'users', { property: 'plan' }, { property: 'cart.total' }),
    breakdown: fc.constantFrom(null, { property: 'plan' }, { property: 'cart.total', limit: 2 }),
  })
  .map(({ days, ...question }) => ({ ...question, to: question.from + days * DAY_MS }))

const copies = fc.array(fc.nat())
const erasures = fc.array(fc.oneof(fc.nat(40).map(String), fc.constantFrom('ada', '007', 'é')), {
  maxLength: 2,
})

test('segments and raw rows answer the same, after any history', async () => {
  const project = await service.createProject()
  const history: unknown[] = []
  await fc.assert(
    fc.asyncProperty(aBatch, copies, erasures, aQuestion, async (batch, copied, gone, question) => {
      // Some of what was sent before is sent again, as it was.
      const again = copied.flatMap((index) => history[index % Math.max(1, history.length)] ?? [])
      await project.store([...batch, ...again, ...batch.slice(0, 3)])
      history.push(...batch)
      // Sealed or waiting; some of theirs comes again with a later batch.
      for (const userId of gone) await project.erase(userId)
      const [segments, events] = await Promise.all([
        project.funnel({ ...question, source: 'segments' }),
        project.funnel({ ...question, source: 'events' }),
      ])
      expect(usersOf(segments)).toEqual(usersOf(events))
      expect(segments.breakdown).toEqual(events.breakdown)
    }),
    { numRuns: ROUNDS, endOnFailure: true },
  )
})
