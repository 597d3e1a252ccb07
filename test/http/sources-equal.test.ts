import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { FunnelAnswer } from '../../src/query/funnel.ts'
import { openTestService } from '../support/service.ts'

// Segments are another telling of the raw rows: whatever was stored, in whatever order and however often,
// whatever has been sealed and merged of it by then, and whoever was erased, both answer the same.

const service = await openTestService()
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const START_MS = (Math.floor(Date.now() / DAY_MS) - 40) * DAY_MS
const DAYS = 36
const ROUNDS = 80

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
    sessionId: fc.option(fc.constantFrom('s1', 's2'), { nil: undefined }),
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
const firstTime = fc.constantFrom(false, false, false, false, true, 'matching')
const property = fc.constantFrom('plan', 'plan', 'cart.total')
const aBreakdown = fc.record({
  property,
  attribution: fc.constantFrom('first', 'last', 'step', 'every'),
  limit: fc.constantFrom(2, 25),
})
const options = fc.record(
  {
    order: fc.constantFrom('strict', 'any'),
    entry: fc.constant('first'),
    exclude: fc.array(fc.record({ event: fc.constantFrom(...names), where }), { maxLength: 2 }),
    count: fc.constantFrom(
      'attempts',
      'sessions',
      { property: 'plan' },
      { property: 'cart.total' },
    ),
    hold: fc.uniqueArray(property, { minLength: 1, maxLength: 2 }),
    breakdown: aBreakdown,
    trend: fc.constantFrom('day', 'week', 'month'),
    compare: fc.constant('previous'),
    timeToConvert: fc.constant(true),
    sample: fc.constantFrom(0.3, 0.9),
    timeZone: fc.constantFrom('America/Los_Angeles', 'Asia/Kathmandu'),
  },
  { requiredKeys: [] },
)
const aQuestion = fc
  .record({
    steps: fc.array(fc.tuple(aStep, firstTime, fc.boolean()), { minLength: 1, maxLength: 5 }),
    windowMs: fc.constantFrom(0, 250 * MINUTE_MS, DAY_MS, 3 * DAY_MS, 40 * DAY_MS),
    from: fc.nat(DAYS).map((days) => START_MS + days * DAY_MS + 60 * MINUTE_MS),
    days: fc.integer({ min: 1, max: DAYS }),
    rangeBounds: fc.constantFrom('entry', 'all'),
    // Most questions have a few of them: all at once leave little to count.
    options: fc.oneof(fc.constant({}), options),
  })
  .map(({ days, steps, options: { exclude, ...some }, ...question }: AnyQuestion) => {
    const isOptionalAllowed = some.order !== 'any'
    return {
      ...{ ...question, ...some, to: question.from + days * DAY_MS },
      ...(exclude !== undefined && steps.length > 1 ? { exclude } : {}),
      steps: steps.map(([step, first, optional], index) => ({
        ...{ ...step, firstTime: first, optional: isOptionalAllowed && index > 0 && optional },
      })),
    }
  })

interface AnyQuestion {
  readonly steps: readonly [object, unknown, boolean][]
  readonly from: number
  readonly days: number
  readonly options: { readonly exclude?: unknown; readonly order?: unknown }
}

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
      expect(answered(segments)).toEqual(answered(events))
    }),
    { numRuns: ROUNDS, endOnFailure: true },
  )
})

/** What does not depend on when and how it was read. */
function answered({ steps, breakdown, trend, compare, timeToConvert, histogram }: FunnelAnswer) {
  return { steps, breakdown, trend, compare, timeToConvert, histogram }
}
