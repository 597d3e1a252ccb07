import { describe, expect, test } from 'vitest'
import { monthOf } from '../../src/event/day.ts'
import { uuidText } from '../../src/event/event-id.ts'
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

test('an event written twice is told once', async () => {
  const event = anEvent({ projectId: 'twice', eventTimeMs: START_MS })
  for (let count = 0; count < 2; count++) await write('twice', [event])
  expect(await newest('twice')).toEqual([
    { eventTimeMs: START_MS, eventId: uuidText(event.eventId) },
  ])
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
      expect(await newest(projectId, { before: all[at], rowsMax: 3 })).toEqual(
        all.slice(at + 1, at + 4),
      )
    expect(await newest(projectId, { before: all.at(-1) })).toEqual([])
  })

  test('begins where it is told to', async () => {
    expect(await newest(projectId, { startMs: START_MS + 999 })).toHaveLength(5)
    expect(await newest(projectId, { startMs: START_MS + 1_000 })).toEqual([])
  })

  test('tells of a day from an event on, that one included', async () => {
    const later = await userTimeline.laterOfDay({ projectId, userId: '4711', from: all[4]! })
    expect(later).toEqual(all.slice(0, 5))
    const day = { projectId, userId: '4711', from: all.at(-1)! }
    expect(await userTimeline.laterOfDay(day)).toHaveLength(5_200)
  })
})

test('another user, month or project has nothing of it', async () => {
  const projectId = 'apart'
  await write(projectId, [anEvent({ projectId, eventTimeMs: START_MS })])
  expect(await newest(projectId)).toHaveLength(1)
  for (const part of [{ userId: '47110' }, { month: month - 1 }, { projectId: 'apar' }])
    expect(await newest(projectId, part)).toEqual([])
})
