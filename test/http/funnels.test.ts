import { describe, expect, test, vi } from 'vitest'
import { request } from 'node:http'
import { openTestService, usersOf } from '../support/service.ts'

const service = await openTestService({
  QUERY_PARTITIONS_MAX: 2_500,
  QUERY_READS_IN_FLIGHT_MAX: 1,
})
const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
const TODAY_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS
const dateOf = (timeMs: number) => new Date(timeMs).toISOString().slice(0, 10)

describe('an answer', async () => {
  const project = await service.createProject()
  const at = (minutes: number) => TODAY_MS - DAY_MS + minutes * MINUTE_MS
  await project.store([
    { event: 'view', userId: 'a', time: at(0), properties: { country: 'DE' } },
    { event: 'buy', userId: 'a', time: at(5), properties: { country: 'FR' } },
    { event: 'view', userId: 'b', time: at(0), properties: { country: 'DE' } },
    { event: 'view', userId: 'c', time: at(0), properties: { country: 'US' } },
    { event: 'quick', userId: 'c', time: at(1) },
    { event: 'view', userId: 'd', time: at(0) },
    { event: 'buy', userId: 'e', time: at(0) },
  ])
  const steps = [{ event: 'view', label: 'Saw it' }, { anyOf: ['buy', { event: 'quick' }] }]

  test('has all that the contract names', async () => {
    const answer = await project.funnel({ steps })
    expect(answer).toMatchObject({
      steps: [
        { label: 'Saw it', users: 4, fromPrevious: 1, fromFirst: 1, medianMs: null, meanMs: null },
        { label: 'buy or quick', users: 2, fromPrevious: 0.5, fromFirst: 0.5 },
      ],
      unit: 'users',
      warnings: [],
      read: { events: 7, cacheHitBytes: 0 },
    })
    expect(answer.read.bytes).toBeGreaterThan(0)
    expect(answer.definition).toMatch(/^Users by their longest chain .*\.$/)
    expect(Math.abs(Date.parse(answer.asOf) - Date.now())).toBeLessThan(MINUTE_MS)
    for (const part of ['plan', 'read', 'fold', 'total'] as const)
      expect(answer.tookMs[part]).toBeGreaterThanOrEqual(0)
  })

  test('is split by what the property was at the first step', async () => {
    const { breakdown } = await project.funnel({ steps, breakdown: { property: 'country' } })
    expect(breakdown!.map(({ value, steps }) => [value, usersOf({ steps })])).toEqual([
      ['DE', [2, 1]],
      ['US', [1, 1]],
      ['$none', [1, 0]],
    ])
    expect(breakdown![0]!.steps[1]).toMatchObject({ label: 'buy or quick', fromFirst: 0.5 })
  })

  test('puts what is beyond the limit of a breakdown under $other', async () => {
    const { breakdown } = await project.funnel({
      ...{ steps, breakdown: { property: 'country', limit: 1 } },
    })
    expect(breakdown!.map(({ value }) => value)).toEqual(['DE', '$other', '$none'])
  })

  test('is zeros where there are no events', async () => {
    const empty = await service.createProject()
    const answer = await empty.funnel({ steps })
    expect(usersOf(answer)).toEqual([0, 0])
    expect(answer.steps[1]).toMatchObject({ fromPrevious: 0, fromFirst: 0 })
    expect(answer.read).toMatchObject({ partitions: 0, events: 0 })
  })

  test('holds steps to the window, its end included', async () => {
    for (const [window, users] of [
      [{ windowMs: 5 * MINUTE_MS }, 2],
      [{ windowMs: 5 * MINUTE_MS - 1 }, 1],
      [{ window: '5m' }, 2],
      [{ window: '4m' }, 1],
      [{ window: '60s' }, 1],
      [{ window: '59s' }, 0],
      [{ windowMs: 0 }, 0],
    ] as const)
      expect(usersOf(await project.funnel({ steps, ...window }))).toEqual([4, users])
  })

  test('counts entries within the range, and later steps after it unless bounds are all', async () => {
    const range = { from: at(0), to: at(5) }
    expect(usersOf(await project.funnel({ steps, ...range }))).toEqual([4, 2])
    expect(usersOf(await project.funnel({ steps, ...range, rangeBounds: 'entry' }))).toEqual([4, 2])
    expect(usersOf(await project.funnel({ steps, ...range, rangeBounds: 'all' }))).toEqual([4, 1])
    expect(usersOf(await project.funnel({ steps, from: at(1), to: at(5) }))).toEqual([0, 0])
    expect(usersOf(await project.funnel({ steps, from: at(0), to: at(0) }))).toEqual([0, 0])
  })
})

describe('where', async () => {
  const project = await service.createProject()
  const values = [
    'Alpha',
    'alphabet',
    'beta',
    '',
    '10',
    9,
    10,
    10.5,
    true,
    null,
    undefined,
    [1],
    {},
  ]
  await project.store(
    values.map((p, index) => ({ event: 'e', userId: index, properties: { p, in: { deep: p } } })),
  )
  const cases: [object, number][] = [
    [{ value: 'beta' }, 1],
    [{ op: 'eq', value: 10 }, 2],
    [{ op: 'eq', value: ['beta', 9] }, 2],
    [{ op: 'eq', value: true }, 1],
    [{ op: 'eq', value: 'true' }, 1],
    [{ op: 'eq', value: null }, 4],
    [{ op: 'ne', value: null }, 9],
    [{ op: 'ne', value: 10 }, 11],
    [{ op: 'in', value: [9, '10'] }, 3],
    [{ op: 'notIn', value: [9, '10'] }, 10],
    [{ op: 'contains', value: 'ALPHA' }, 2],
    [{ op: 'notContains', value: 'alpha' }, 11],
    [{ op: 'startsWith', value: 'AL' }, 2],
    [{ op: 'endsWith', value: 'BET' }, 1],
    [{ op: 'matches', value: '^[ab]' }, 2],
    [{ op: 'gt', value: 9.5 }, 2],
    [{ op: 'gte', value: 10.5 }, 1],
    [{ op: 'between', value: [9, 10] }, 2],
    [{ op: 'isSet' }, 9],
    [{ op: 'isNotSet' }, 4],
  ]
  test.each(cases)('%j is met by %i users', async (condition, users) => {
    for (const property of ['p', 'in.deep']) {
      const steps = [{ event: 'e', where: [{ property, ...condition }] }]
      const [counted] = usersOf(await project.funnel({ steps }))
      // Of numbers with texts only those are compared as numbers that are both.
      if (!('op' in condition) || !['gt', 'gte', 'between'].includes(condition.op as string))
        expect(counted).toBe(users)
      else expect(counted).toBeGreaterThanOrEqual(users)
    }
  })

  test('lt and gte part all that have a value', async () => {
    const count = async (op: string) =>
      usersOf(
        await project.funnel({
          steps: [{ event: 'e', where: [{ property: 'p', op, value: 10 }] }],
        }),
      )[0]!
    expect((await count('lt')) + (await count('gte'))).toBe(9)
    expect((await count('lte')) + (await count('gt'))).toBe(9)
  })
})

describe('a question that is wrong is refused, with the path to each fault', async () => {
  const project = await service.createProject()
  const step = { event: 'e' }
  const cases: [unknown, string][] = [
    [{}, 'steps'],
    [[], ''],
    [{ steps: [] }, 'steps'],
    [{ steps: [{}] }, 'steps.0'],
    [{ steps: [step, { event: 'e', anyEvent: true }] }, 'steps.1'],
    [{ steps: Array.from({ length: 33 }, () => step) }, 'steps'],
    [{ steps: [{ event: '' }] }, 'steps.0.event'],
    [{ steps: [{ event: 7 }] }, 'steps.0.event'],
    [{ steps: [{ anyOf: [] }] }, 'steps.0.anyOf'],
    [
      { steps: [{ event: 'e', where: [{ property: 'p', op: 'is', value: 1 }] }] },
      'steps.0.where.0.op',
    ],
    [{ steps: [{ event: 'e', where: [{ property: 'p', op: 'gt' }] }] }, 'steps.0.where.0'],
    [
      { steps: [{ event: 'e', where: [{ property: 'p', op: 'between', value: 1 }] }] },
      'steps.0.where.0',
    ],
    [
      { steps: [{ event: 'e', where: [{ property: 'p', op: 'matches', value: '(' }] }] },
      'steps.0.where.0',
    ],
    [
      { steps: [step, { anyOf: ['a', { event: 'e', where: [{ property: 'p', op: 'in' }] }] }] },
      'steps.1.anyOf.1.where.0',
    ],
    [{ steps: [step], window: '5 parsecs' }, 'window'],
    [{ steps: [step], windowMs: -1 }, 'windowMs'],
    [{ steps: [step], window: '5m', windowMs: 5 }, 'window'],
    [{ steps: [step], from: 'yesterday' }, 'from'],
    [{ steps: [step], from: '2026-02-30' }, 'from'],
    [{ steps: [step], to: '2026-11-01T00:00:00' }, 'to'],
    [{ steps: [step], from: '2026-11-02', to: '2026-11-01' }, 'from'],
    [{ steps: [step], from: 1e300 }, 'from'],
    [{ steps: [step], from: 0.5 }, 'from'],
    [{ steps: [step], to: Number.MAX_SAFE_INTEGER }, 'to'],
    [{ steps: [step], timeZone: 'Mars/Olympus' }, 'timeZone'],
    [{ steps: [step], timeZone: '' }, 'timeZone'],
    [{ steps: [step], rangeBounds: 'none' }, 'rangeBounds'],
    [{ steps: [step], breakdown: {} }, 'breakdown.property'],
    [{ steps: [step], breakdown: { property: 'p', limit: 0 } }, 'breakdown.limit'],
  ]
  test.each(cases)('%j: %s', async (query, path) => {
    const answer = await project.ask(query)
    expect([answer.status, answer.json()['code']]).toEqual([400, 'INVALID_QUERY'])
    const { errors } = answer.json<{ errors: { path: string; message: string }[] }>()
    expect(errors.map((fault) => fault.path)).toContain(path)
    expect(errors.every(({ message }) => message.length > 0)).toBe(true)
  })

  test('all faults are told together', async () => {
    const answer = await project.ask({ steps: [{ event: 1 }], window: 'x', rangeBounds: 'y' })
    const { errors } = answer.json<{ errors: { path: string }[] }>()
    expect(errors.map(({ path }) => path).sort()).toEqual([
      'rangeBounds',
      'steps.0.event',
      'window',
    ])
  })

  test('a field that is unknown is refused rather than left out', async () => {
    for (const field of [{ colour: 'red' }, { samples: 0.5 }, { hold: 'p' }, { trend: 'daily' }])
      expect((await project.ask({ steps: [step], ...field })).status).toBe(400)
  })
})

test.each(['from', 'to'])('%s may lie anywhere in time', async (field) => {
  const project = await service.createProject()
  await project.store([{ event: 'e', userId: 'a' }])
  const users = field === 'from' ? 1 : 0
  for (const moment of [0, -1e12, '1970-01-01', '0001-01-01', '1999-12-31T23:59:59+14:00']) {
    const query = { from: '0001-01-01', steps: [{ event: 'e' }], [field]: moment, freshness: 'now' }
    const answer = await project.ask(query)
    if (answer.status === 200) expect(usersOf(answer.json())).toEqual([users])
    else expect(answer.status).toBe(400)
  }
})

describe('dates are days in a time zone', async () => {
  const project = await service.createProject({ timeZone: 'Pacific/Auckland' })
  const day = TODAY_MS - 10 * DAY_MS
  const noonUtc = day + DAY_MS / 2
  // In Auckland a day begins at 11:00 or 12:00 UTC of the day before.
  await project.store([
    { event: 'e', userId: 'early', time: noonUtc - 3 * 60 * MINUTE_MS },
    { event: 'e', userId: 'late', time: noonUtc + 3 * 60 * MINUTE_MS },
  ])
  const steps = [{ event: 'e' }]

  test('of the project', async () => {
    const range = { from: dateOf(day), to: dateOf(day + DAY_MS) }
    expect(usersOf(await project.funnel({ steps, ...range }))).toEqual([1])
    const next = { from: dateOf(day + DAY_MS), to: dateOf(day + 2 * DAY_MS) }
    expect(usersOf(await project.funnel({ steps, ...next }))).toEqual([1])
  })

  test('of the question, where it names one', async () => {
    const range = { from: dateOf(day), to: dateOf(day + DAY_MS), timeZone: 'UTC' }
    expect(usersOf(await project.funnel({ steps, ...range }))).toEqual([2])
  })

  test('with a start that a change of the clocks moves', async () => {
    const answer = await project.funnel({
      ...{ steps, timeZone: 'America/Sao_Paulo', from: '2018-11-04', to: '2018-11-05' },
    })
    expect(answer.definition).toContain('from 2018-11-04T03:00:00.000Z to before 2018-11-05T02:00')
  })
})

describe('a question over 3,000 partitions', async () => {
  const project = await service.createProject()
  const events = Array.from({ length: 3_000 }, (_, index) => ({
    ...{ event: 'e', userId: index % 1_000, time: TODAY_MS - Math.floor(index / 1_000) * DAY_MS },
  }))
  await project.store(events)
  const steps = [{ event: 'e' }]

  test('is refused before it starts where that is over the limit, with its estimate', async () => {
    const answer = await project.ask({ steps, source: 'events' })
    expect([answer.status, answer.json()['code']]).toEqual([422, 'QUERY_TOO_LARGE'])
    expect(answer.json()['detail']).toContain('3000')
    const fewer = await project.funnel({ steps, source: 'events', from: TODAY_MS - DAY_MS })
    expect([usersOf(fewer), fewer.read.partitions]).toEqual([[1_000], 2_000])
  })

  test('is given up when its client goes away', async () => {
    const given = 'query_duration_seconds_count{kind="funnel",outcome="CANCELLED"}'
    const reads =
      'store_statement_duration_seconds_count{table="events",operation="scan",outcome="ok"}'
    const before = await service.metric(reads)
    const body = JSON.stringify({ steps, source: 'events', from: TODAY_MS - DAY_MS })
    const headers = { authorization: `Bearer ${project.readKey}` }
    const outgoing = request(`${service.url}/v1/funnels`, { method: 'POST', headers })
    outgoing.on('error', () => outgoing.destroy())
    outgoing.end(body)
    await vi.waitFor(async () => expect(await service.metric(reads)).toBeGreaterThan(before + 10), {
      ...{ timeout: 10_000, interval: 5 },
    })
    outgoing.destroy()
    await vi.waitFor(async () => expect(await service.metric(given)).toBe(1), 10_000)
    expect((await service.metric(reads)) - before).toBeLessThan(2_000)
  })
})
