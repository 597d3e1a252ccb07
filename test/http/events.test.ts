import { describe, expect, test } from 'vitest'
import { openTestService, usersOf } from '../support/service.ts'

const service = await openTestService({ USER_EVENTS_PER_DAY_MAX: 100 })
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const view = (userId: string | number, part: object = {}) => ({ event: 'view', userId, ...part })

describe('the shapes of a body', async () => {
  const project = await service.createProject()

  test('one event, an array and { events } are taken alike', async () => {
    for (const body of [view('a'), [view('b'), view('c')], { events: [view('d'), view('e')] }]) {
      const answer = await project.post(body)
      const accepted = body instanceof Array ? 2 : 'events' in body ? 2 : 1
      expect([answer.status, answer.json()]).toEqual([200, { accepted, rejected: [] }])
    }
    const { steps } = await project.funnel({ steps: [{ event: 'view' }] })
    expect(usersOf({ steps })).toEqual([5])
  })

  test('no events are no fault', async () => {
    for (const body of [[], { events: [] }])
      expect((await project.post(body)).json()).toEqual({ accepted: 0, rejected: [] })
  })

  test('an event with a field called events is one event', async () => {
    const answer = await project.post({ ...view('f'), events: 'mine' })
    expect(answer.json()).toEqual({ accepted: 1, rejected: [] })
  })

  test.each(['', '   ', '{', 'null', '7', '"text"', 'true', '{"events":7}', '[1,2', 'NaN'])(
    'the body %j is refused as a whole',
    async (body) => {
      const answer = await project.post(body)
      expect([answer.status, answer.json()['code']]).toEqual([400, 'INVALID_REQUEST'])
    },
  )

  test('1,000 events are taken in one request, and 1,001 are refused as a whole', async () => {
    const events = Array.from({ length: 1_001 }, (_, index) => ({
      ...{ event: 'many', userId: index, id: String(index) },
    }))
    const tooMany = await project.post(events)
    expect([tooMany.status, tooMany.json()['code']]).toEqual([413, 'TOO_MANY_EVENTS'])
    expect(usersOf(await project.funnel({ steps: [{ event: 'many' }] }))).toEqual([0])
    const most = await project.post({ events: events.slice(0, 1_000) })
    expect(most.json()).toEqual({ accepted: 1_000, rejected: [] })
    expect(usersOf(await project.funnel({ steps: [{ event: 'many' }] }))).toEqual([1_000])
  })
})

describe('what an event must be', async () => {
  const project = await service.createProject({ retentionDays: 30 })
  const nowMs = Date.now()

  const refused: [string, unknown, string][] = [
    ['a number', 7, 'INVALID_EVENT'],
    ['null', null, 'INVALID_EVENT'],
    ['an array', [], 'INVALID_EVENT'],
    ['without a name', { userId: 'a' }, 'INVALID_EVENT'],
    ['with an empty name', { userId: 'a', event: '' }, 'INVALID_EVENT'],
    ['with a number for a name', { userId: 'a', event: 7 }, 'INVALID_EVENT'],
    ['with a name of 201 characters', { userId: 'a', event: 'n'.repeat(201) }, 'INVALID_EVENT'],
    ['of nobody', { event: 'view' }, 'INVALID_EVENT'],
    ['of a user with an empty id', view(''), 'INVALID_EVENT'],
    ['of a negative user', view(-1), 'INVALID_EVENT'],
    ['of half a user', view(0.5), 'INVALID_EVENT'],
    ['of a user beyond 2^53', view(2 ** 53), 'INVALID_EVENT'],
    ['of a user id of 257 bytes', view(`${'é'.repeat(128)}x`), 'INVALID_EVENT'],
    ['of a user that is an object', { event: 'view', userId: {} }, 'INVALID_EVENT'],
    ['with an id of 257 bytes', view('a', { id: 'i'.repeat(257) }), 'INVALID_EVENT'],
    ['with a time that is none', view('a', { time: 'yesterday' }), 'INVALID_EVENT'],
    ['with a time without a zone', view('a', { time: '2026-11-30T12:00:00' }), 'INVALID_EVENT'],
    [
      'with a day that no calendar has',
      view('a', { time: '2026-02-30T00:00:00Z' }),
      'INVALID_EVENT',
    ],
    ['with half a millisecond', view('a', { time: nowMs + 0.5 }), 'INVALID_EVENT'],
    ['with a time beyond all dates', view('a', { time: 1e300 }), 'INVALID_EVENT'],
    ['25 hours ahead', view('a', { time: nowMs + 25 * HOUR_MS }), 'TIME_OUT_OF_RANGE'],
    ['31 days old', view('a', { time: nowMs - 31 * DAY_MS }), 'TIME_OUT_OF_RANGE'],
    ['of the year 1', view('a', { time: '0001-01-01T00:00:00Z' }), 'TIME_OUT_OF_RANGE'],
    ['with properties in an array', view('a', { properties: [] }), 'INVALID_EVENT'],
    ['with a text for properties', view('a', { properties: 'p' }), 'INVALID_EVENT'],
    ['with 257 properties', view('a', { properties: manyProperties(257) }), 'INVALID_EVENT'],
    ['with 33 levels', view('a', { properties: nested(33) }), 'INVALID_EVENT'],
    ['of 64 KiB and more', view('a', { properties: { p: 'x'.repeat(65_536) } }), 'EVENT_TOO_LARGE'],
  ]

  test.each(refused)('an event %s is refused alone, with its reason', async (_, event, code) => {
    const answer = await project.post([view('good'), event, view('good')])
    expect(answer.status).toBe(200)
    expect(answer.json()).toEqual({
      accepted: 2,
      rejected: [{ index: 1, code, message: expect.any(String) as string }],
    })
  })

  const taken: [string, unknown][] = [
    ['of user 0', view(0)],
    ['of user 2^53 - 1', view(2 ** 53 - 1)],
    ['of a longer number as text', view('9007199254740993000')],
    ['of a user id of 256 bytes', view('é'.repeat(128))],
    ['of an anonymous user', { event: 'view', anonymousId: 'x' }],
    ['with nulls for what is absent', view('a', { id: null, time: null, properties: null })],
    ['with an id of 256 bytes', view('a', { id: 'i'.repeat(256) })],
    ['with a number for an id', view('a', { id: 12 })],
    ['with a name of 200 characters', view('a', { event: 'n'.repeat(200) })],
    ['23 hours ahead', view('a', { time: nowMs + 23 * HOUR_MS })],
    ['28 days old', view('a', { time: nowMs - 28 * DAY_MS })],
    ['with a zone', view('a', { time: new Date(nowMs).toISOString().replace('Z', '+05:30') })],
    ['with 256 properties', view('a', { properties: manyProperties(256) })],
    ['with 32 levels', view('a', { properties: nested(32) })],
    ['with fields that nobody knows', view('a', { colour: 'red' })],
  ]

  test.each(taken)('an event %s is taken', async (_, event) => {
    expect((await project.post(event)).text).toBe('{"accepted":1,"rejected":[]}')
  })

  test('rejected events are told by their index, in order', async () => {
    const events = Array.from({ length: 50 }, (_, index) => (index % 7 === 3 ? index : view(index)))
    const { rejected } = (await project.post(events)).json<{ rejected: { index: number }[] }>()
    expect(rejected.map(({ index }) => index)).toEqual([3, 10, 17, 24, 31, 38, 45])
  })
})

test('a user has so many events a day, and the next day again; other users are not concerned', async () => {
  const project = await service.createProject()
  const time = Date.now()
  const events = Array.from({ length: 101 }, () => view('hot', { time }))
  const answer = await project.post([...events, view('cool')])
  expect(answer.json()).toEqual({
    accepted: 101,
    rejected: [{ index: 100, code: 'USER_LIMIT', message: expect.any(String) as string }],
  })
  const yesterday = await project.post(view('hot', { time: time - DAY_MS }))
  expect(yesterday.json()).toEqual({ accepted: 1, rejected: [] })
})

test('an event without a time has happened when it arrived', async () => {
  const project = await service.createProject()
  const beforeMs = Date.now()
  await project.store([view('a')])
  const [event] = (await project.userEvents('a')).events
  expect(event!.time).toBe(event!.receivedAt)
  expect(Date.parse(event!.time)).toBeGreaterThanOrEqual(beforeMs)
  expect(Date.parse(event!.time)).toBeLessThanOrEqual(Date.now())
})

test('4711 and "4711" are one user', async () => {
  const project = await service.createProject()
  await project.store([view(4711), view('4711')])
  expect(usersOf(await project.funnel({ steps: [{ event: 'view' }] }))).toEqual([1])
  expect(await project.allUserEvents('4711')).toHaveLength(2)
})

function manyProperties(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, index]))
}

function nested(levels: number): object {
  let inner = {}
  for (let level = 1; level < levels; level++) inner = { inner }
  return inner
}
