import { describe, expect, test } from 'vitest'
import { openTestService, type ListedEvent, type TestProject } from '../support/service.ts'

const service = await openTestService()
const DAY_MS = 86_400_000
const NOW_MS = Date.now()
const YESTERDAY_MS = Math.floor(NOW_MS / DAY_MS) * DAY_MS - DAY_MS

interface Page {
  readonly events: ListedEvent[]
  readonly cursor?: string
}

const ask = (project: TestProject, query: object, at = service) =>
  at.send('/v1/events/search', { key: project.readKey, body: query })

async function pageOf(project: TestProject, query: object): Promise<Page> {
  const answer = await ask(project, query)
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)])
  return answer.json<Page>()
}

/** All pages, one after the other; none has more than its limit. */
async function allOf(
  project: TestProject,
  query: Record<string, unknown> & { limit?: number },
): Promise<ListedEvent[]> {
  const events: ListedEvent[] = []
  let cursor: string | undefined
  do {
    const page = await pageOf(project, cursor === undefined ? query : { ...query, cursor })
    expect(page.events.length).toBeLessThanOrEqual(query.limit ?? 100)
    events.push(...page.events)
    cursor = page.cursor
  } while (cursor !== undefined)
  return events
}

const idsOf = (events: readonly ListedEvent[]) => events.map(({ id }) => id)

describe('events of many users, buckets and days, with ties', async () => {
  const project = await service.createProject()
  // Four events a moment, of different users, or of one.
  const sent = Array.from({ length: 600 }, (_, index) => ({
    ...{ id: `s-${index}`, event: index % 5 === 0 ? '$buy' : 'view' },
    userId: index % 3 === 0 ? 'the same' : `user ${index % 40}`,
    time: NOW_MS - Math.floor(index / 4) * 3_600_000,
    properties: { price: index, path: `/p/${index % 7}`, nested: { deep: index % 2 === 0 } },
  }))
  await project.store(sent)
  const all = await allOf(project, { limit: 1_000 })

  test('are all told once, newest first, as they were sent', () => {
    expect(idsOf(all).sort()).toEqual(sent.map(({ id }) => id).sort())
    const timesMs = all.map(({ time }) => Date.parse(time))
    expect(timesMs).toEqual(timesMs.toSorted((a, b) => b - a))
    const first = sent[7]!
    const { receivedAt, ...told } = all.find(({ id }) => id === first.id)!
    expect(told).toEqual({ ...first, time: new Date(first.time).toISOString() })
    expect(Math.abs(Date.parse(receivedAt) - NOW_MS)).toBeLessThan(60_000)
  })

  test.each([1, 7, 100, 599, 600, 601])(
    'are the same in pages of %i, to the end',
    async (limit) => {
      if (limit === 1) {
        const few = { limit, from: NOW_MS - 5 * 3_600_000 }
        expect(await allOf(project, few)).toEqual(await allOf(project, { ...few, limit: 1_000 }))
      } else expect(await allOf(project, { limit })).toEqual(all)
    },
  )

  test('have no cursor on their last page', async () => {
    expect((await pageOf(project, { limit: 600 })).cursor).toBeUndefined()
    expect((await pageOf(project, { limit: 599 })).cursor).toBeTypeOf('string')
    expect((await pageOf(project, {})).events).toEqual(all.slice(0, 100))
  })

  test.each([
    [{ event: '$buy' }, (one: ListedEvent) => one.event === '$buy'],
    [{ event: ['$buy', 'view'] }, () => true],
    [{ userId: 'the same' }, (one: ListedEvent) => one.userId === 'the same'],
    [
      { userId: 'the same', event: '$buy', where: [{ property: 'nested.deep', value: true }] },
      ({ userId, event, properties }: ListedEvent) =>
        userId === 'the same' && event === '$buy' && (properties['price'] as number) % 2 === 0,
    ],
    [
      { where: [{ property: 'price', op: 'between', value: [20, 90] }] },
      ({ properties }: ListedEvent) =>
        (properties['price'] as number) >= 20 && (properties['price'] as number) <= 90,
    ],
    [{ where: [{ property: 'none', op: 'isNotSet' }] }, () => true],
    [{ where: [{ property: 'path', op: 'matches', value: '^/p/[12]$' }] }, pathIsOneOrTwo],
    [{ where: [{ property: 'price', value: -1 }] }, () => false],
    [
      { from: NOW_MS - 50 * 3_600_000, to: NOW_MS - 20 * 3_600_000 },
      ({ time }: ListedEvent) =>
        Date.parse(time) >= NOW_MS - 50 * 3_600_000 && Date.parse(time) < NOW_MS - 20 * 3_600_000,
    ],
  ])('%j tells just the events that it asks for', async (query, isAsked) => {
    const expected = all.filter(isAsked)
    expect(await allOf(project, query)).toEqual(expected)
    expect(await allOf(project, { ...query, limit: 13 })).toEqual(expected)
  })

  test('of a date are those of that day in the time zone', async () => {
    const timeZone = 'Asia/Kathmandu'
    const dayIn = (time: string) =>
      new Date(Date.parse(time) + 20_700_000).toISOString().slice(0, 10)
    const from = dayIn(new Date(YESTERDAY_MS - DAY_MS).toISOString())
    const to = dayIn(new Date(YESTERDAY_MS).toISOString())
    const expected = all.filter(({ time }) => dayIn(time) === from)
    expect(expected.length).toBeGreaterThan(0)
    expect(await allOf(project, { from, to, timeZone })).toEqual(expected)
  })

  test('go on where they were though newer and older events arrive', async () => {
    const first = await pageOf(project, { limit: 50 })
    await project.store([{ event: 'new', userId: 'x' }])
    const { events } = await pageOf(project, { limit: 50, cursor: first.cursor })
    expect(events).toEqual(all.slice(50, 100))
  })

  test('are of no other project', async () => {
    const other = await service.createProject()
    const { cursor } = await pageOf(project, { limit: 1 })
    for (const query of [{}, { userId: 'the same' }, { cursor }])
      expect(await pageOf(other, query)).toEqual({ events: [] })
  })
})

describe('an event sent again', async () => {
  const project = await service.createProject()
  const event = { id: 'e', event: 'e', userId: 'u' }
  const noonMs = YESTERDAY_MS + DAY_MS / 2
  for (const [minutes, at] of [
    [0, 'early'],
    [30, 'late'],
    [0, 'early'],
  ] as const)
    await project.store([{ ...event, time: noonMs + minutes * 60_000, properties: { at } }])
  await project.store(
    Array.from({ length: 9 }, (_, index) => ({
      ...{ id: `f-${index}`, event: 'f', userId: 'u', time: noonMs + (index - 4) * 600_000 },
    })),
  )

  test.each([1, 2, 3, 100])('is told once, as its newest copy, in pages of %i', async (limit) => {
    for (const who of [{}, { userId: 'u' }]) {
      const told = await allOf(project, { ...who, limit })
      expect(told).toHaveLength(10)
      expect(told.filter(({ id }) => id === 'e')).toMatchObject([{ properties: { at: 'late' } }])
    }
  })

  test('is not told by an older copy that a range or a condition would find', async () => {
    const to = noonMs + 60_000
    expect(idsOf(await allOf(project, { event: 'e', to }))).toEqual([])
    const where = [{ property: 'at', value: 'early' }]
    expect(idsOf(await allOf(project, { where }))).toEqual([])
  })
})

test('an erased user is not told of, but for what came after', async () => {
  const project = await service.createProject()
  const event = { id: 'again', event: 'e', userId: 'gone' }
  await project.store([
    { ...event, time: YESTERDAY_MS + 2_000 },
    { event: 'e', userId: 'gone' },
    { id: 'kept', event: 'e', userId: 'kept' },
  ])
  await project.erase('gone')
  expect(idsOf(await allOf(project, {}))).toEqual(['kept'])
  expect(await allOf(project, { userId: 'gone' })).toEqual([])
  // Its copy is newer by its time, and was received before the erasure.
  await project.store([{ ...event, time: YESTERDAY_MS + 1_000 }])
  expect(idsOf(await allOf(project, {}))).toEqual(['kept', 'again'])
  expect(idsOf(await allOf(project, { userId: 'gone' }))).toEqual(['again'])
})

/** Events of one day, newest first, of so many users in turn; the last one is a needle. */
const dayOfEvents = (count: number, userCount: number) =>
  Array.from({ length: count }, (_, index) => ({
    ...{ event: index === count - 1 ? 'needle' : 'hay', userId: index % userCount },
    time: YESTERDAY_MS + DAY_MS - 1 - index * 10,
  }))

test('a day of 1,000 buckets is told in pages, newest first', async () => {
  const project = await service.createProject()
  const events = dayOfEvents(4_000, 1_000)
  await project.store(events)
  const first = await pageOf(project, { limit: 150 })
  const { events: next } = await pageOf(project, { limit: 150, cursor: first.cursor })
  expect([...first.events, ...next].map(({ userId, time }) => [Number(userId), time])).toEqual(
    events.slice(0, 300).map(({ userId, time }) => [userId, new Date(time).toISOString()]),
  )
})

describe('36,000 events of one day', async () => {
  const project = await service.createProject()
  await project.store(dayOfEvents(36_000, 60))

  test('are too many for one page of a search that finds little, and its cursors lead to the end', async () => {
    const first = await pageOf(project, { event: 'needle' })
    expect(first.events).toEqual([])
    expect(first.cursor).toBeTypeOf('string')
    expect((await allOf(project, { event: 'needle' })).map(({ event }) => event)).toEqual([
      'needle',
    ])
    expect(await allOf(project, { event: 'needle', userId: 0 })).toEqual([])
  })

  test('are not read on once a search takes too long', async () => {
    const impatient = await openTestService(
      { QUERY_TIMEOUT_MS: 1 },
      { testKeyspace: service.testKeyspace },
    )
    const answer = await ask(project.at(impatient), { event: 'none' }, impatient)
    expect([answer.status, answer.json()['code']]).toEqual([504, 'QUERY_TIMEOUT'])
  })

  test('are not read on for a client that went away', async () => {
    const cancelled = () =>
      service.metric('query_duration_seconds_count{kind="search",outcome="CANCELLED"}')
    // Given up after longer and longer, until one is met while it searches.
    let delayMs = 10
    const giveUp = async () => {
      const asking = fetch(`${service.url}/v1/events/search`, {
        ...{ method: 'POST', body: '{"event":"none"}', signal: AbortSignal.timeout(delayMs) },
        headers: { authorization: `Bearer ${project.readKey}` },
      })
      delayMs = Math.min(2 * delayMs, 500)
      await asking.catch(() => undefined)
      return await cancelled()
    }
    await expect.poll(giveUp, { timeout: 30_000 }).toBeGreaterThan(0)
  })
})

test('properties leave as they came, large numbers and all', async () => {
  const project = await service.createProject()
  const body = '[{"event":"e","userId":"u","properties":{"n":12345678901234567890}}]'
  expect((await project.post(body)).status).toBe(200)
  const answer = await ask(project, {})
  expect(answer.text).toContain('"properties":{"n":12345678901234567890}')
})

describe('what is asked wrongly is refused', async () => {
  const project = await service.createProject()
  await project.store([{ event: 'e', userId: 'u' }])
  const base64 = (text: string) => Buffer.from(text).toString('base64url')
  const id = '0b9f9f9e-0d5c-4d43-9d8c-0d6f4f0f1a11'
  const userCursor = base64(`${NOW_MS} ${id}`)

  test.each([
    [{ limit: 0 }, 'limit'],
    [{ limit: 1_001 }, 'limit'],
    [{ limit: '5' }, 'limit'],
    [{ from: 'x' }, 'from'],
    [{ from: '2026-11-02', to: '2026-11-01' }, 'from'],
    [{ timeZone: 'Mars' }, 'timeZone'],
    [{ event: '' }, 'event'],
    [{ event: [] }, 'event'],
    [{ userId: '' }, 'userId'],
    [{ where: [{ property: 'p', op: 'between', value: 1 }] }, 'where.0'],
    [{ where: [{ property: 'p', op: 'matches', value: '(' }] }, 'where.0'],
    [{ where: [{ property: 'p', op: 'like', value: 1 }] }, 'where.0.op'],
    [{ where: Array(21).fill({ property: 'p', op: 'matches', value: 'a' }) }, 'where'],
    [{ names: ['e'] }, ''],
    [{ cursor: 'x' }, 'cursor'],
    [{ cursor: userCursor }, 'cursor'],
    [{ cursor: base64(`s 1 1000 ${id}`) }, 'cursor'],
    [{ cursor: base64(`s 1e3 1 ${id}`) }, 'cursor'],
    [{ cursor: 'A'.repeat(201) }, 'cursor'],
    [{ cursor: 7 }, 'cursor'],
  ])('%j', async (query, path) => {
    const answer = await ask(project, query)
    expect([answer.status, answer.json()['code']]).toEqual([400, 'INVALID_QUERY'])
    expect(answer.json<{ errors: { path: string }[] }>().errors[0]!.path).toBe(path)
  })

  test.each(['[]', 'null', '1', '"x"', '{', '', '\u0000', '{"where":{}}', '{"where":[null]}'])(
    'the body %j',
    async (body) => {
      const answer = await service.send('/v1/events/search', { key: project.readKey, body })
      expect(answer.status).toBe(400)
    },
  )

  test.each(['\ud800', 'a\u0000', '../..', ' ', 2 ** 53 - 1])(
    'but the user %j is one without events',
    async (userId) => expect(await pageOf(project, { userId })).toEqual({ events: [] }),
  )

  test.each([
    `s 999999999999999 0 ${id}`,
    `s -999999999999999 0 ${id}`,
    `s ${NOW_MS} -1 ${id}`,
    `s ${NOW_MS} 999 ffffffff-ffff-ffff-ffff-ffffffffffff`,
  ])('the cursor of %j is answered with what is before it', async (cursor) => {
    for (const who of [{}, { userId: 'u' }]) {
      const answer = await ask(project, { ...who, cursor: base64(cursor) })
      expect(answer.status).toBe(200)
    }
  })

  test('by other keys', async () => {
    const send = (key?: string) =>
      service.send('/v1/events/search', { body: {}, ...(key === undefined ? {} : { key }) })
    expect((await send(project.writeKey)).status).toBe(403)
    expect((await send('tf_r_00000000000000000000000000000000')).status).toBe(401)
    expect((await send()).status).toBe(401)
  })
})

function pathIsOneOrTwo({ properties }: ListedEvent): boolean {
  return ['/p/1', '/p/2'].includes(properties['path'] as string)
}
