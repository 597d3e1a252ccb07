import { describe, expect, test } from 'vitest'
import { openTestService } from '../support/service.ts'

const service = await openTestService()
const DAY_MS = 86_400_000

describe('a timeline over many months, with ties and copies', async () => {
  const project = await service.createProject({ retentionDays: 1_000 })
  const nowMs = Date.now()
  // Three events a moment, some of them three months apart, every tenth one sent again a second later.
  const times = Array.from({ length: 80 }, (_, index) => nowMs - index * index * 3_600_000)
  const sent = times.flatMap((time, at) =>
    [0, 1, 2].map((tie) => ({ event: `e${tie}`, userId: 'a', id: `${at}.${tie}`, time })),
  )
  const copies = sent.filter((_, index) => index % 10 === 0)
  await project.store(sent)
  await project.store(copies.map((event) => ({ ...event, time: laterThatDay(event.time) })))
  const all = await project.allUserEvents('a')

  test('has each event once, newest first', () => {
    expect(all.map(({ id }) => id).sort()).toEqual(sent.map(({ id }) => id).sort())
    const timesMs = all.map(({ time }) => Date.parse(time))
    expect(timesMs).toEqual(timesMs.toSorted((a, b) => b - a))
  })

  test.each([1, 2, 7, 100, 239, 240, 241])(
    'is the same in pages of %i, to its end',
    async (limit) => {
      expect(await project.allUserEvents('a', limit)).toEqual(all)
    },
  )

  test('has no cursor on its last page', async () => {
    expect((await project.userEvents('a', '?limit=240')).cursor).toBeUndefined()
    expect((await project.userEvents('a', '?limit=239')).cursor).toBeTypeOf('string')
  })

  test('has 100 events on a page by default', async () => {
    expect((await project.userEvents('a')).events).toEqual(all.slice(0, 100))
  })

  test('goes on where it was though newer events arrive', async () => {
    const first = await project.userEvents('a', '?limit=50')
    await project.store([{ event: 'new', userId: 'a', time: nowMs + 1_000 }])
    const next = await project.userEvents('a', `?limit=50&cursor=${first.cursor!}`)
    expect(next.events).toEqual(all.slice(50, 100))
  })
})

test('a month of more than 5,000 events is told to its end', async () => {
  const project = await service.createProject()
  const nowMs = Date.now()
  const events = Array.from({ length: 5_200 }, (_, index) => ({
    ...{ event: 'e', userId: 'busy', id: String(index), time: nowMs - Math.floor(index / 3) },
  }))
  await project.store(events)
  const told = await project.allUserEvents('busy')
  expect(new Set(told.map(({ id }) => id)).size).toBe(5_200)
  expect(told).toHaveLength(5_200)
})

// Not `.` and `..`: no URL can hold them, encoded or not.
test.each(['a/b', 'a//', '%2F', 'a%', '?x=1#y', 'ünï✓', '😀', ' ', 'a b', '+', '\n', '&limit=1'])(
  'the events of the user %j are told',
  async (userId) => {
    const project = await service.createProject()
    await project.store([{ event: 'e', userId, properties: { userId } }])
    const [event] = (await project.userEvents(userId)).events
    expect(event).toMatchObject({ userId, properties: { userId } })
  },
)

test('an unknown user has no events', async () => {
  const project = await service.createProject()
  expect(await project.userEvents('nobody')).toEqual({ events: [] })
})

test('an anonymous user is found as anon: and its id', async () => {
  const project = await service.createProject()
  await project.store([{ event: 'e', anonymousId: 'x' }])
  expect((await project.userEvents('anon:x')).events).toMatchObject([
    { userId: 'anon:x', anonymousId: 'x' },
  ])
})

test('events ahead of the clock are told, and those beyond the retention are not', async () => {
  const project = await service.createProject({ retentionDays: 10 })
  const nowMs = Date.now()
  await project.store([
    { event: 'ahead', userId: 'a', time: nowMs + 0.9 * DAY_MS },
    { event: 'old', userId: 'a', time: Math.round(nowMs - 8.9 * DAY_MS) },
  ])
  const names = async () => (await project.allUserEvents('a')).map(({ event }) => event)
  expect(await names()).toEqual(['ahead', 'old'])
  await service.admin(`/v1/projects/${project.id}`, {
    ...{ method: 'PATCH', body: { retentionDays: 5 } },
  })
  expect(await names()).toEqual(['ahead'])
})

describe('what is asked wrongly is refused', async () => {
  const project = await service.createProject()
  await project.store([{ event: 'e', userId: 'a' }])
  const base64 = (text: string) => Buffer.from(text).toString('base64url')
  const id = '0b9f9f9e-0d5c-4d43-9d8c-0d6f4f0f1a11'

  test.each(['limit=0', 'limit=1001', 'limit=-1', 'limit=x', 'limit=1.5', 'cursor='])(
    '%s',
    async (query) => {
      const path = `/v1/users/a/events?${query}`
      const answer = await service.send(path, { key: project.readKey })
      expect([answer.status, answer.json()['code']]).toEqual([400, 'INVALID_QUERY'])
      const [fault] = answer.json<{ errors: { path: string }[] }>().errors
      expect(fault!.path).toBe(query.split('=')[0])
    },
  )

  test.each([
    'x',
    '%F0%9F%98%80',
    'A'.repeat(200),
    'A'.repeat(201),
    base64('0'),
    base64(`x ${id}`),
    base64(`1e3 ${id}`),
    base64(`0 ${id.toUpperCase()}`),
    base64(`9999999999999999 ${id}`),
    base64(`-9999999999999999 ${id}`),
    base64(`-8640000000000001 ${id}`),
    base64(`99999999999999999 ${id}`),
  ])('the cursor %s is refused, or answered with what is before it', async (cursor) => {
    const path = `/v1/users/a/events?cursor=${cursor}`
    const answer = await service.send(path, { key: project.readKey })
    if (answer.status !== 200) {
      expect([answer.status, answer.json()['code']]).toEqual([400, 'INVALID_QUERY'])
      return
    }
    expect(answer.json<{ events: object[] }>().events.length).toBeLessThanOrEqual(1)
  })
})

function laterThatDay(timeMs: number): number {
  const endMs = (Math.floor(timeMs / DAY_MS) + 1) * DAY_MS
  return Math.min(timeMs + 1_000, endMs - 1)
}
