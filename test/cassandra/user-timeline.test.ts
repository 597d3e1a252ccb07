import { describe, expect, test } from 'vitest'
import { monthOf } from '../../src/event/day.ts'
import { anEvent } from '../support/an-event.ts'
import { openTestKeyspace } from '../support/keyspace.ts'
import { writeRows } from '../support/rows.ts'

const { session, stores } = await openTestKeyspace()
const { userTimeline } = stores
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const START_MS = Date.UTC(2026, 9, 10)
const month = monthOf(START_MS)

const write = (projectId: string, events: readonly ReturnType<typeof anEvent>[]) =>
  writeRows(session, userTimeline, { projectId }, events)

function newest(projectId: string, part: object = {}) {
  const before = { eventTimeMs: START_MS + 86_400_000, eventId: LAST_ID }
  const read = { projectId, userId: '4711', month, startMs: 0, before, rowsMax: 10_000 }
  return userTimeline.newest({ ...read, ...part })
}

test('an event is read as it was written, twice or once', async () => {
  const uuid = '0b9f9f9e-0d5c-4d43-9d8c-0d6f4f0f1a11'
  const event = anEvent({
    ...{ projectId: 'whole', sentId: uuid, anonymousId: 'anon', sessionId: '' },
    ...{ eventTimeMs: START_MS, receivedAtMs: START_MS + 1, properties: '{"n":1.0}' },
  })
  await write('whole', [event])
  await write('whole', [event])
  const { eventId: _, sentId: __, ...rest } = event
  expect(await newest('whole')).toEqual([
    { ...rest, id: uuid, eventId: expect.any(String) as string },
  ])
})

test.each(['0B9F9F9E-0D5C-4D43-9D8C-0D6F4F0F1A11', '7', 'ü'.repeat(128), '\u0000'])(
  'the sent id %j comes back as it was',
  async (sentId) => {
    const projectId = `id ${sentId}`
    await write(projectId, [anEvent({ projectId, sentId, eventTimeMs: START_MS })])
    expect((await newest(projectId))[0]!.id).toBe(sentId)
  },
)

test('an event without a sent id has its event id for one', async () => {
  await write('none', [anEvent({ projectId: 'none', sentId: null, eventTimeMs: START_MS })])
  const [event] = await newest('none')
  expect(event!.id).toBe(event!.eventId)
})

describe('a month of 5,200 events, with ties', async () => {
  const projectId = 'many'
  const many = Array.from({ length: 5_200 }, (_, index) =>
    anEvent({ projectId, eventTimeMs: START_MS + (index % 1_000) }),
  )
  await write(projectId, many)
  const all = await newest(projectId)

  test('is read whole, newest first', () => {
    expect(new Set(all.map(({ eventId }) => eventId)).size).toBe(5_200)
    const keys = all.map(({ eventTimeMs, eventId }) => `${eventTimeMs} ${eventId}`)
    expect(keys).toEqual(keys.toSorted().reverse())
  })

  test('goes on behind any event, in the middle of a tie', async () => {
    for (const at of [0, 1, 4, 777, 5_198])
      expect(
        (await newest(projectId, { before: all[at], rowsMax: 3 })).map(({ id }) => id),
      ).toEqual(all.slice(at + 1, at + 4).map(({ id }) => id))
    expect(await newest(projectId, { before: all.at(-1) })).toEqual([])
  })

  test('begins where it is told to', async () => {
    expect(await newest(projectId, { startMs: START_MS + 999 })).toHaveLength(5)
    expect(await newest(projectId, { startMs: START_MS + 1_000 })).toEqual([])
  })

  test('tells the ids of a day from an event on, that one included', async () => {
    const ids = await userTimeline.laterIdsOfDay({ projectId, userId: '4711', from: all[4]! })
    expect(ids.sort()).toEqual(
      all
        .slice(0, 5)
        .map(({ eventId }) => eventId)
        .sort(),
    )
    const day = { projectId, userId: '4711', from: all.at(-1)! }
    expect(await userTimeline.laterIdsOfDay(day)).toHaveLength(5_200)
  })
})

test('600 events of 60 KB are read', async () => {
  const projectId = 'large'
  for (let index = 0; index < 600; index++)
    await write(projectId, [
      anEvent({
        ...{ projectId, eventTimeMs: START_MS + index },
        properties: `{"text":"${'x'.repeat(60_000)}"}`,
      }),
    ])
  const found = await newest(projectId, { rowsMax: 600 })
  expect(found).toHaveLength(600)
  const read = { projectId, userId: '4711', from: found.at(-1)! }
  expect(await userTimeline.laterIdsOfDay(read)).toHaveLength(600)
})

test('another user, month or project has nothing of it', async () => {
  const projectId = 'apart'
  await write(projectId, [anEvent({ projectId, eventTimeMs: START_MS })])
  expect(await newest(projectId)).toHaveLength(1)
  for (const part of [{ userId: '47110' }, { month: month - 1 }, { projectId: 'apar' }])
    expect(await newest(projectId, part)).toEqual([])
})
