import { request } from 'node:http'
import { parse } from 'csv-parse/sync'
import { describe, expect, test, vi } from 'vitest'
import type { FunnelUsersPage } from '../../src/query/funnel-users.ts'
import { openRandom } from '../support/sealing.ts'
import { openTestService, usersOf, type TestProject } from '../support/service.ts'

const service = await openTestService()
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const START_MS = (Math.floor(Date.now() / DAY_MS) - 6) * DAY_MS
const PATH = '/v1/funnels/users'

type ListedUser = FunnelUsersPage['users'][number]

/** Ids that CSV must quote, that a spreadsheet would run, and that JSON escapes. */
const HARD_IDS = [
  'a,b',
  'say "hi"',
  'two\nlines',
  'back\rhome',
  '=1+1',
  '@x',
  ' spaced ',
  'Ü 😀',
  '007',
]
const steps = ['view', 'cart', 'buy'].map((event) => ({ event }))
const funnel = {
  ...{ steps, window: '20h', from: START_MS, to: START_MS + 3 * DAY_MS },
  breakdown: { property: 'plan', limit: 2 },
}

/** Events of about 120 users, whose times are often equal. */
function someEvents(count: number, seed: number) {
  const random = openRandom(seed)
  const oneOf = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!
  return Array.from({ length: count }, () => ({
    event: oneOf(['view', 'view', 'cart', 'buy']),
    userId: random() < 0.2 ? oneOf(HARD_IDS) : Math.floor(random() * 110),
    time: START_MS + Math.floor(random() * 40) * 2 * HOUR_MS,
    properties: random() < 0.2 ? {} : { plan: oneOf(['a', 'a', 'b', 'b', 'c', 1, '$none']) },
  }))
}

const post = (project: TestProject, body: object, headers: Record<string, string> = {}) =>
  service.send(PATH, { key: project.readKey, body, headers })

async function page(project: TestProject, question: object): Promise<FunnelUsersPage> {
  const answer = await post(project, question)
  expect([answer.status, answer.text]).toEqual([200, expect.anything()])
  return answer.json<FunnelUsersPage>()
}

/** The users of all pages. Before each page but the first, `between` is done. */
async function allPages(project: TestProject, question: object, between = async () => {}) {
  const users: ListedUser[] = []
  let next: FunnelUsersPage = await page(project, question)
  const { asOf } = next
  for (;;) {
    users.push(...next.users)
    expect(next.asOf).toBe(asOf)
    if (next.cursor === undefined) return users
    await between()
    next = await page(project, { ...question, cursor: next.cursor })
  }
}

const byId = (users: readonly ListedUser[]) =>
  users.toSorted((a, b) => (a.userId < b.userId ? -1 : 1))

/** Every bar of an answer: what to ask for, and how many users it says. */
function barsOf(answer: Awaited<ReturnType<TestProject['funnel']>>) {
  const parts = [{ counts: usersOf(answer), part: {} }].concat(
    answer.breakdown!.map((entry) => ({
      ...{ counts: usersOf(entry), part: { breakdownValue: entry.value } },
    })),
  )
  return parts.flatMap(({ counts, part }) =>
    counts.flatMap((count, index) => [
      { bar: { step: index + 1, outcome: 'converted', ...part }, count },
      ...(index === 0
        ? []
        : [
            {
              bar: { step: index + 1, outcome: 'dropped', ...part },
              count: counts[index - 1]! - count,
            },
          ]),
    ]),
  )
}

describe('the users behind a bar', async () => {
  const project = await service.createProject()
  await project.store(someEvents(700, 1))
  await project.store(someEvents(300, 2))
  const answer = await project.funnel(funnel)
  const bars = barsOf(answer)

  test('are as many as it says over all pages, each once, and the same from both sources', async () => {
    expect(answer.breakdown!.map(({ value }) => value)).toEqual(['a', 'b', '$other', '$none'])
    expect(bars.length).toBe(25)
    for (const { bar, count } of bars) {
      const question = { ...funnel, ...bar, limit: 7 }
      const segments = await allPages(project, question)
      const rows = await allPages(project, { ...question, source: 'events', limit: 23 })
      expect([bar, new Set(segments.map(({ userId }) => userId)).size]).toEqual([bar, count])
      expect([bar, segments.length]).toEqual([bar, count])
      expect([bar, byId(segments)]).toEqual([bar, byId(rows)])
      for (const { enteredAt, reachedAt } of segments) {
        const tookMs = Date.parse(reachedAt) - Date.parse(enteredAt)
        expect(tookMs).toBeGreaterThanOrEqual(0)
        expect(tookMs).toBeLessThanOrEqual(20 * HOUR_MS)
      }
    }
  })

  test('of a value beyond the limit of the breakdown can be asked for by its name', async () => {
    const question = { ...funnel, step: 1, outcome: 'converted', limit: 1_000 }
    const valuesOf = async (breakdownValue: string) =>
      (await page(project, { ...question, breakdownValue })).users
    const others = await Promise.all(['c', '1', '$other'].map(valuesOf))
    expect(others[0]!.length).toBeGreaterThan(0)
    expect(byId([...others[0]!, ...others[1]!])).toEqual(byId(others[2]!))
    expect(await valuesOf('never')).toEqual([])
  })

  test('come as CSV that reads back as the same users, whatever their ids', async () => {
    const question = { ...funnel, step: 1, outcome: 'converted', limit: 50 }
    const read: ListedUser[] = []
    let cursor: string | undefined
    do {
      const answer = await post(project, { ...question, cursor }, { accept: 'text/csv' })
      expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8; header=present')
      expect(answer.text).toMatch(/^userId,enteredAt,reachedAt\r\n/)
      expect(Date.parse(String(answer.headers['x-as-of']))).toBeLessThanOrEqual(Date.now())
      read.push(
        ...(parse(answer.text, { columns: true, record_delimiter: '\r\n' }) as ListedUser[]),
      )
      cursor = answer.headers['x-next-cursor'] as string | undefined
    } while (cursor !== undefined)
    expect(read).toEqual(await allPages(project, question))
    expect(read.map(({ userId }) => userId)).toEqual(expect.arrayContaining(HARD_IDS))
  })

  test('come as JSON unless CSV is what is wanted most', async () => {
    const question = { ...funnel, step: 1, outcome: 'converted' }
    for (const accept of ['*/*', 'application/json', 'text/csv;q=0.5, application/json'])
      expect((await post(project, question, { accept })).json()).toHaveProperty('users')
  })
})

test('the pages add up to the bar of the first one, whatever is sealed in between', async () => {
  const project = await service.createProject()
  await project.store(someEvents(400, 3))
  // Of a value that is soon the one with the most users, so that another one goes into $other.
  let newcomer = 0
  const storeNewcomers = async () => {
    const events = Array.from({ length: 60 }, () => `new ${newcomer++}`).flatMap((userId) =>
      ['view', 'cart'].map((event) => ({
        ...{ event, userId, time: START_MS, properties: { plan: 'z' } },
      })),
    )
    await project.store(events)
    await project.funnel(funnel)
  }
  const question = { ...funnel, step: 2, outcome: 'converted', limit: 3, freshness: 'now' }
  for (const breakdownValue of ['$other', undefined]) {
    const bar = { ...question, breakdownValue }
    const expected = await allPages(project, bar)
    expect(await allPages(project, bar, storeNewcomers)).toEqual(expected)
    const { users } = await page(project, { ...bar, limit: 1_000 })
    expect(users.length).toBeGreaterThan(expected.length)
  }
})

test('from raw rows nobody is listed twice while events come in', async () => {
  const project = await service.createProject()
  await project.store(someEvents(400, 4))
  const question = { ...funnel, step: 1, outcome: 'converted', limit: 9, source: 'events' }
  const before = await allPages(project, question)
  let seed = 30
  const listed = await allPages(project, question, () => project.store(someEvents(60, seed++)))
  const ids = listed.map(({ userId }) => userId)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toEqual(expect.arrayContaining(before.map(({ userId }) => userId)))
})

describe('in every mode the users behind a bar', async () => {
  const project = await service.createProject()
  await project.store(
    [...someEvents(500, 11), ...someEvents(300, 12)].map((event, at) => ({
      ...event,
      ...(at % 3 === 0 ? {} : { sessionId: `s${at % 5}` }),
      properties: { ...event.properties, ...(at % 4 === 0 ? {} : { org: `o${at % 37}` }) },
    })),
  )
  await project.funnel(funnel)

  test.each<object>([
    { order: 'strict' },
    { order: 'any' },
    { entry: 'first' },
    { count: 'attempts' },
    { count: 'attempts', order: 'any', breakdown: { property: 'plan', attribution: 'last' } },
    { count: 'sessions' },
    { count: 'sessions', order: 'strict', hold: ['plan'] },
    { hold: ['plan'] },
    { exclude: [{ event: 'cart', where: [{ property: 'plan', value: 'a' }], beforeStep: 3 }] },
    { steps: steps.map((step, index) => ({ ...step, firstTime: index === 1 })) },
    { breakdown: { property: 'plan', attribution: 'last', limit: 2 } },
    { breakdown: { property: 'plan', attribution: 'step', step: 2, limit: 1 } },
    { breakdown: { property: 'plan', attribution: 'every', limit: 2 } },
    { breakdown: { property: 'plan', attribution: 'every', limit: 1 }, count: 'attempts' },
    { timeToConvert: true, trend: 'day', compare: 'previous' },
    { rangeBounds: 'all', window: '0ms' },
    { count: { property: 'plan' }, breakdown: { property: 'plan' } },
    { count: { property: 'org' } },
    { count: { property: 'org' }, order: 'any', breakdown: { property: 'plan', limit: 1 } },
  ])('are as many as it says: %j', async (mode) => {
    const question = { ...funnel, ...mode }
    for (const { bar, count } of barsOf(await project.funnel(question))) {
      const segments = await allPages(project, { ...question, ...bar, limit: 17 })
      expect([bar, segments.length]).toEqual([bar, count])
      // A user may be listed for several attempts, sessions or values, in any order of these.
      const rows = await allPages(project, { ...question, ...bar, limit: 29, source: 'events' })
      expect([bar, inOrder(segments)]).toEqual([bar, inOrder(rows)])
    }
  })

  test('may leave steps out', async () => {
    const optional = steps.map((step, index) => ({ ...step, optional: index === 1 }))
    const question = { ...funnel, steps: optional, breakdown: null }
    const counts = usersOf(await project.funnel(question))
    for (const [index, count] of counts.entries()) {
      const bar = { step: index + 1, outcome: 'converted' }
      expect(await allPages(project, { ...question, ...bar })).toHaveLength(count)
    }
    const dropped = await allPages(project, { ...question, step: 3, outcome: 'dropped' })
    expect(dropped).toHaveLength(counts[0]! - counts[2]!)
  })
})

const inOrder = (users: readonly ListedUser[]) =>
  users.map(({ userId, enteredAt, reachedAt }) => `${userId} ${enteredAt} ${reachedAt}`).sort()

test('the chain told of is the best one: of several the first begun, each step as early as it can be', async () => {
  const project = await service.createProject()
  const at = (hour: number) => new Date(START_MS + hour * HOUR_MS).toISOString()
  const events = [
    ['view', 0],
    ['view', 1],
    ['cart', 2],
    ['view', 3],
    ['cart', 4],
    ['buy', 5],
  ] as const
  await project.store(events.map(([event, hour]) => ({ event, userId: 'u', time: at(hour) })))
  for (const source of ['segments', 'events'])
    for (const [step, window, enteredHour, reachedHour] of [
      [1, '20h', 0, 0],
      [2, '20h', 0, 2],
      [3, '20h', 0, 5],
      [3, '2h', 3, 5],
    ] as const) {
      const question = { ...funnel, breakdown: null, window, source, freshness: 'now' }
      const { users } = await page(project, { ...question, step, outcome: 'converted' })
      const times = { enteredAt: at(enteredHour), reachedAt: at(reachedHour) }
      expect(users).toEqual([{ userId: 'u', ...times }])
    }
})

describe('a cursor', async () => {
  const project = await service.createProject()
  await project.store(someEvents(300, 5))
  await project.funnel(funnel)
  const question = { ...funnel, step: 1, outcome: 'converted', limit: 5 }
  const { cursor } = await page(project, question)
  const codeOf = async (body: object, of = project) => {
    const answer = await post(of, body)
    return [answer.status, answer.json()['code']]
  }

  test('is there only while there are more users', async () => {
    const { length } = await allPages(project, question)
    expect(await page(project, { ...question, limit: length })).not.toHaveProperty('cursor')
    expect(await page(project, { ...question, limit: length - 1 })).toHaveProperty('cursor')
  })

  test('of rubbish, of another question, source or project is refused', async () => {
    const other = await service.createProject()
    const decoded = Buffer.from(cursor!, 'base64url').toString()
    const rubbish = Buffer.from(decoded.replace(/\d+$/, '99999999999')).toString('base64url')
    for (const wrong of ['x', 'ZZZZ', cursor!.slice(4), rubbish])
      expect(await codeOf({ ...question, cursor: wrong })).toEqual([400, 'INVALID_QUERY'])
    for (const asked of [{ step: 2 }, { source: 'events' }, { window: '1h' }, { breakdown: null }])
      expect(await codeOf({ ...question, ...asked, cursor })).toEqual([400, 'INVALID_QUERY'])
    expect(await codeOf({ ...question, cursor }, other)).toEqual([400, 'INVALID_QUERY'])
  })

  test('that was put together of two lists is refused', async () => {
    const decode = (text: string) => Buffer.from(text, 'base64url').toString().split(' ')
    const other = await page(project, { ...question, source: 'events' })
    const [own, , place] = decode(cursor!)
    const mixed = [own, decode(other.cursor!)[1], place].join(' ')
    const asked = { ...question, cursor: Buffer.from(mixed).toString('base64url') }
    expect(await codeOf(asked)).toEqual([400, 'INVALID_QUERY'])
  })

  test('may be followed in pages of another length', async () => {
    const { users } = await page(project, { ...question, limit: 1_000, cursor })
    const all = await allPages(project, question)
    expect(users).toEqual(all.slice(5))
  })

  test('whose pin is gone says that the list must be begun again', async () => {
    const decoded = Buffer.from(cursor!, 'base64url').toString()
    const gone = decoded.replace(/ [0-9a-f]{8}-/, ' 00000000-')
    const asked = { ...question, cursor: Buffer.from(gone).toString('base64url') }
    expect(await codeOf(asked)).toEqual([410, 'CURSOR_EXPIRED'])
  })
})

describe('a question for users', async () => {
  const project = await service.createProject()

  test.each([
    [{ step: 1, outcome: 'dropped' }, 'step'],
    [{ step: 4, outcome: 'converted' }, 'step'],
    [{ step: 0, outcome: 'converted' }, 'step'],
    [{ step: 2 }, 'outcome'],
    [{ step: 2, outcome: 'left' }, 'outcome'],
    [{ step: 2, outcome: 'dropped', limit: 1_001 }, 'limit'],
    [{ step: 1, outcome: 'converted', cursor: 'rubbish' }, 'cursor'],
    [{ step: 2, outcome: 'dropped', breakdown: null, breakdownValue: 'a' }, 'breakdownValue'],
  ])('is refused where it makes no sense: %j', async (asked, path) => {
    const answer = await post(project, { ...funnel, ...asked })
    expect([answer.status, answer.json()['code']]).toEqual([400, 'INVALID_QUERY'])
    expect(answer.json<{ errors: { path: string }[] }>().errors[0]!.path).toBe(path)
  })

  test('is answered by nobody where nothing has come in', async () => {
    for (const source of ['segments', 'events'])
      for (const breakdownValue of [undefined, 'a', '$none', '$other']) {
        const bar = { step: 2, outcome: 'dropped', source, breakdownValue }
        expect((await page(project, { ...funnel, ...bar })).users).toEqual([])
      }
  })

  test('is for read keys, and the admin key with a project', async () => {
    const body = { ...funnel, step: 1, outcome: 'converted' }
    const statusOf = async (key: string) => (await service.send(PATH, { key, body })).status
    expect(await statusOf(project.writeKey)).toBe(403)
    expect(await statusOf('tf_r_unknown')).toBe(401)
    const headers = { 'x-project': project.id }
    expect((await service.admin(PATH, { body, headers })).status).toBe(200)
  })

  test('over more events than are allowed is refused with the number', async () => {
    const small = await openTestService({ QUERY_EVENTS_MAX: 10 }, service)
    await project.store(Array.from({ length: 11 }, (_, userId) => ({ event: 'view', userId })))
    await project.funnel({ steps })
    const body = { steps, step: 1, outcome: 'converted' }
    const answer = await small.send(PATH, { key: project.readKey, body })
    expect([answer.status, answer.json()['code']]).toEqual([422, 'QUERY_TOO_LARGE'])
    expect(answer.json()['detail']).toContain('11 events')
  })

  test('is stopped when its client goes away', async () => {
    const many = await service.createProject()
    const events = Array.from({ length: 3_000 }, (_, userId) => ({
      ...{ event: 'view', userId, time: START_MS + (userId % 3) * DAY_MS },
    }))
    await many.store(events)
    const cancelled = 'query_duration_seconds_count{kind="funnel",outcome="CANCELLED"}'
    const reads =
      'store_statement_duration_seconds_count{table="events",operation="scan",outcome="ok"}'
    const before = await service.metric(cancelled)
    const readBefore = await service.metric(reads)
    const headers = { authorization: `Bearer ${many.readKey}` }
    const leaving = request(`${service.url}${PATH}`, { method: 'POST', headers })
    leaving.on('error', () => undefined)
    leaving.end(JSON.stringify({ ...funnel, step: 3, outcome: 'converted', source: 'events' }))
    await vi.waitFor(async () => expect(await service.metric(reads)).toBeGreaterThan(readBefore))
    leaving.destroy()
    await vi.waitFor(async () => expect(await service.metric(cancelled)).toBe(before + 1), 20_000)
  })
})
