import { describe, expect, test } from 'vitest'
import { openTestService, usersOf, type TestProject } from '../support/service.ts'

const service = await openTestService()
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const TODAY_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS
const START_MS = TODAY_MS - 20 * DAY_MS

const two = [{ event: 'A' }, { event: 'B' }]
const isoOf = (ms: number) => new Date(ms).toISOString()
const sources = ['segments', 'events']

/** Stores events given as [user, event, hours after the start, properties]. */
async function projectWith(
  events: readonly [string, string, number, object?][],
  settings: object = {},
): Promise<TestProject> {
  const project = await service.createProject({ ...settings })
  await project.store(
    events.map(([userId, event, hours, rest = {}]) => ({
      ...{ userId, event, time: START_MS + hours * HOUR_MS, ...rest },
    })),
  )
  return project
}

const range = { from: START_MS, to: START_MS + 10 * DAY_MS }

describe('a trend', () => {
  test('is the funnel of each interval of entries, its window and range included', async () => {
    // BUG-17: converting two days later, with a window of one, is no conversion in any interval.
    const project = await projectWith([
      ['u1', 'A', 1],
      ['u1', 'B', 49],
      ['u2', 'A', 25],
      ['u2', 'B', 48],
      ['u3', 'B', 30],
      ['u4', 'A', -1],
    ])
    for (const source of sources) {
      const question = { steps: two, window: '1d', ...range, trend: 'day', source }
      const { steps, trend } = await project.funnel(question)
      expect(usersOf({ steps })).toEqual([2, 1])
      expect(trend!.map(({ from }) => from)).toEqual(
        Array.from({ length: 10 }, (_, day) => isoOf(START_MS + day * DAY_MS)),
      )
      expect(trend!.map(usersOf)).toEqual([[1, 0], [1, 1], ...new Array(8).fill([0, 0])])
      expect(trend!.map(({ open }) => open)).toEqual(new Array(10).fill(false))
    }
  })

  test('marks the intervals whose windows are not over', async () => {
    const project = await projectWith([['u1', 'A', 1]])
    const question = {
      ...{ steps: two, from: TODAY_MS - 4 * DAY_MS, to: TODAY_MS + DAY_MS, trend: 'day' },
    }
    const openOf = async (rest: object) =>
      (await project.funnel({ ...question, ...rest })).trend!.map(({ open }) => open)
    expect(await openOf({ window: '0ms' })).toEqual([false, false, false, false, true])
    expect(await openOf({ window: '2d' })).toEqual([false, false, true, true, true])
    // Nothing after the range is looked at, so that is when it is over.
    const all = { window: '2d', rangeBounds: 'all', to: TODAY_MS - DAY_MS }
    expect(await openOf(all)).toEqual([false, false, false])
  })

  test('has the days, weeks and months of a time zone, changes of its clocks included', async () => {
    const project = await service.createProject({ timeZone: 'America/Los_Angeles', weekStart: 7 })
    const question = { steps: two, from: '2026-10-30', to: '2026-11-04' }
    const fromOf = async (rest: object) =>
      (await project.funnel({ ...question, ...rest })).trend!.map(({ from }) => from)
    // On 1 November 2026, a Sunday, clocks went back by an hour.
    expect(await fromOf({ trend: 'day' })).toEqual([
      '2026-10-30T07:00:00.000Z',
      '2026-10-31T07:00:00.000Z',
      '2026-11-01T07:00:00.000Z',
      '2026-11-02T08:00:00.000Z',
      '2026-11-03T08:00:00.000Z',
    ])
    expect(await fromOf({ trend: 'week' })).toEqual([
      '2026-10-25T07:00:00.000Z',
      '2026-11-01T07:00:00.000Z',
    ])
    expect(await fromOf({ trend: 'month' })).toEqual([
      '2026-10-01T07:00:00.000Z',
      '2026-11-01T07:00:00.000Z',
    ])
    expect(await fromOf({ trend: 'hour', from: '2026-11-01', to: '2026-11-02' })).toHaveLength(25)
  })
})

test('compare answers the same question of the range before, or of another', async () => {
  const project = await projectWith([
    ['u1', 'A', 0],
    ['u1', 'B', 1],
    ['u2', 'A', -24],
    ['u3', 'A', -25],
    ['u3', 'B', -24],
    ['u4', 'A', -300],
  ])
  for (const source of sources) {
    const question = { steps: two, window: '1d', ...range, source, trend: 'week' }
    const before = await project.funnel({ ...question, compare: 'previous' })
    expect(usersOf(before)).toEqual([1, 1])
    expect(usersOf(before.compare!)).toEqual([2, 1])
    expect(before.compare).toMatchObject({
      from: isoOf(START_MS - 10 * DAY_MS),
      to: isoOf(START_MS),
    })
    expect(before.compare!.trend!.length).toBeGreaterThan(1)
    const compare = { from: START_MS - 13 * DAY_MS, to: START_MS - 12 * DAY_MS }
    expect(usersOf((await project.funnel({ ...question, compare })).compare!)).toEqual([1, 0])
  }
})

test('a session is of one session id, or ended by more than 30 minutes of silence', async () => {
  const minutes = (count: number) => (count * MINUTE_MS) / HOUR_MS
  const project = await projectWith([
    ['u1', 'A', 0, { sessionId: 's1' }],
    ['u1', 'B', 5, { sessionId: 's1' }],
    ['u2', 'A', 0, { sessionId: 's2' }],
    ['u2', 'B', 1 / 60, { sessionId: 's3' }],
    // What is said in between keeps a session awake.
    ['u3', 'A', 0],
    ['u3', 'heartbeat', minutes(30)],
    ['u3', 'B', minutes(60)],
    ['u4', 'A', 0],
    ['u4', 'B', minutes(30) + 1 / HOUR_MS],
    ['u4', 'A', minutes(31)],
  ])
  for (const source of sources) {
    const question = { steps: two, ...range, count: 'sessions', source }
    const { steps, unit } = await project.funnel(question)
    expect([unit, ...usersOf({ steps })]).toEqual(['sessions', 5, 2])
    // BUG-20: the unit is named, and users are users.
    const users = await project.funnel({ ...question, count: 'users' })
    expect([users.unit, ...usersOf(users)]).toEqual(['users', 4, 4])
  }
})

test('times between steps are told for each step, in all, and as a histogram', async () => {
  const project = await projectWith([
    ['u1', 'A', 0],
    ['u1', 'B', 1],
    ['u2', 'A', 0],
    ['u2', 'B', 3],
    ['u3', 'A', 0],
  ])
  for (const source of sources) {
    const question = { steps: two, ...range, timeToConvert: true, source }
    const { steps, timeToConvert, histogram } = await project.funnel(question)
    expect(steps[0]).toMatchObject({ users: 3, medianMs: null, meanMs: null, p90Ms: null })
    const times = { medianMs: 2 * HOUR_MS, meanMs: 2 * HOUR_MS, p90Ms: 2.8 * HOUR_MS }
    expect(steps[1]).toMatchObject({ users: 2, ...times })
    expect(timeToConvert).toEqual(times)
    expect(histogram!.reduce((sum, { users }) => sum + users, 0)).toBe(2)
    expect(histogram![0]).toMatchObject({ fromMs: HOUR_MS, users: 1 })
  }
  const nobody = await project.funnel({
    steps: [{ event: 'B' }, { event: 'A' }],
    timeToConvert: true,
  })
  expect([nobody.histogram, nobody.timeToConvert!.medianMs]).toEqual([[], null])
})

test('a sample is of users by hash, its counts are scaled, and it says so', async () => {
  const users = Array.from({ length: 2_000 }, (_, user) => String(user))
  const project = await projectWith(users.map((user) => [user, 'A', 1]))
  const question = { steps: two, ...range, sample: 0.25 }
  const [segments, events] = await Promise.all(
    sources.map((source) => project.funnel({ ...question, source })),
  )
  expect(usersOf(segments!)).toEqual(usersOf(events!))
  expect(segments!.steps[0]!.users).toBeGreaterThan(1_600)
  expect(segments!.steps[0]!.users).toBeLessThan(2_400)
  expect(segments!.warnings.join()).toContain('25 % of the users')
  expect(events!.read.events).toBeLessThan(1_000)
  const all = await project.funnel({ ...question, sample: 1 })
  expect([usersOf(all), all.warnings]).toEqual([[2_000, 0], []])
})

test('the first event ever is looked for before the range, as long as events are kept', async () => {
  const project = await projectWith([
    ['old', 'A', -24 * 30],
    ['old', 'A', 1],
    ['old', 'B', 2],
    ['new', 'A', 1],
    ['new', 'B', 2],
    ['other', 'A', -24 * 30, { properties: { k: 'x' } }],
    ['other', 'A', 1, { properties: { k: 'v' } }],
  ])
  const where = [{ property: 'k', value: 'v' }]
  for (const source of sources) {
    const ask = async (first: object) =>
      usersOf(
        await project.funnel({
          steps: [{ event: 'A', ...first }, { event: 'B' }],
          ...range,
          source,
        }),
      )
    expect(await ask({})).toEqual([3, 2])
    expect(await ask({ firstTime: true })).toEqual([1, 1])
    expect(await ask({ firstTime: true, where })).toEqual([0, 0])
    expect(await ask({ firstTime: 'matching', where })).toEqual([1, 0])
  }
})

test('filters on a property change every step that has them, the first as well as the last', async () => {
  // BUG-24: one rate has one denominator.
  const project = await projectWith([
    ['u1', 'A', 0, { properties: { k: 'a' } }],
    ['u1', 'B', 1, { properties: { k: 'a' } }],
    ['u2', 'A', 0, { properties: { k: 'b' } }],
  ])
  const where = [{ property: 'k', value: 'a' }]
  const steps = two.map((step) => ({ ...step, where }))
  expect((await project.funnel({ steps, ...range })).steps[1]).toMatchObject({
    users: 1,
    fromFirst: 1,
  })
})

test('what is asked is told in a sentence, and the unit by name', async () => {
  const project = await service.createProject()
  const answer = await project.funnel({
    ...{ steps: [...two, { event: 'C', optional: true }], ...range, order: 'strict' },
    ...{ count: 'attempts', hold: ['org'], exclude: [{ event: 'logout' }], entry: 'first' },
    breakdown: { property: 'plan', attribution: 'every' },
  })
  expect(answer.unit).toBe('attempts × org')
  for (const part of [
    'Attempts',
    'equal org',
    'logout after step 1',
    'plan',
    'optional',
    'first entry',
  ])
    expect(answer.definition).toContain(part)
})
