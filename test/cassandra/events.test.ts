import { describe, expect, test } from 'vitest'
import { bucketOf } from '../../src/event/bucket.ts'
import { dayOf } from '../../src/event/day.ts'
import type { Event } from '../../src/event/event.ts'
import type { EventPosition } from '../../src/store/event-row.ts'
import { heldSentId, uuidText } from '../../src/event/event-id.ts'
import { anEvent } from '../support/an-event.ts'
import { openTestKeyspace } from '../support/keyspace.ts'
import { collect, writeRows } from '../support/rows.ts'

const { session, stores } = await openTestKeyspace()
const { events } = stores
const DAY_MS = 86_400_000
const NOON_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS / 2
const bucketDay = { bucket: bucketOf('4711'), day: dayOf(NOON_MS) }

function scanOf(projectId: string, part: object = {}) {
  return events.scan({ projectId, ...bucketDay, withProperties: false, ...part })
}

test('when an event was received is read where it is asked for, the last time of a resend', async () => {
  const event = anEvent({ eventTimeMs: NOON_MS, receivedAtMs: NOON_MS + 1 })
  const resent = { ...event, receivedAtMs: NOON_MS + 2 }
  for (const one of [event, resent])
    await writeRows(session, events, { projectId: 'received' }, [one])
  const pages = scanOf('received', { withReceivedAt: true })
  expect((await collect(pages)).flat().map(({ receivedAtMs }) => receivedAtMs)).toEqual([
    NOON_MS + 2,
  ])
})

test('an event written twice is read once', async () => {
  const event = anEvent({ projectId: 'twice', eventTimeMs: NOON_MS })
  for (let count = 0; count < 2; count++)
    await writeRows(session, events, { projectId: 'twice' }, [event])
  expect((await collect(scanOf('twice'))).flat()).toEqual([
    {
      eventTimeMs: NOON_MS,
      eventId: uuidText(event.eventId),
      ...{ userId: '4711', eventName: 'page_view', sessionId: null },
      ...{ properties: '', receivedAtMs: 0 },
    },
  ])
})

test('a session id is read where it is asked for', async () => {
  const projectId = 'sessions'
  const sent = [null, 's', ''].map((sessionId, ms) =>
    anEvent({ projectId, sessionId, eventTimeMs: NOON_MS + ms }),
  )
  await writeRows(session, events, { projectId }, sent)
  const read = async (withSessionId: boolean) =>
    (await collect(scanOf(projectId, { withSessionId }))).flat().map((one) => one.sessionId)
  expect(await read(true)).toEqual([null, 's', ''])
  expect(await read(false)).toEqual([null, null, null])
})

function find(projectId: string, positions: readonly EventPosition[]) {
  return events.find({ projectId, userId: '4711', day: bucketDay.day, positions })
}

const positionOf = ({ eventTimeMs, eventId }: Event) => ({
  eventTimeMs,
  eventId: uuidText(eventId),
})

test('an event is found as it was written', async () => {
  const uuid = '0b9f9f9e-0d5c-4d43-9d8c-0d6f4f0f1a11'
  const event = anEvent({
    ...{ projectId: 'whole', sentId: uuid, anonymousId: 'anon', sessionId: '' },
    ...{ eventTimeMs: NOON_MS, receivedAtMs: NOON_MS + 1, properties: '{"n":1.0}' },
  })
  await writeRows(session, events, { projectId: 'whole' }, [event])
  const { eventId: _, sentId: __, ...rest } = event
  expect(await find('whole', [positionOf(event)])).toEqual([
    { ...rest, id: uuid, eventId: uuidText(event.eventId) },
  ])
})

test.each(['0B9F9F9E-0D5C-4D43-9D8C-0D6F4F0F1A11', '7', 'ü'.repeat(128), '\u0000'])(
  'the sent id %j comes back as it was',
  async (sentId) => {
    const projectId = `id ${sentId}`
    const event = anEvent({ projectId, sentId, eventTimeMs: NOON_MS })
    await writeRows(session, events, { projectId }, [event])
    expect((await find(projectId, [positionOf(event)]))[0]!.id).toBe(sentId)
  },
)

test('an event without a sent id has the one that was drawn for it', async () => {
  const event = anEvent({ projectId: 'none', sentId: null, eventTimeMs: NOON_MS })
  await writeRows(session, events, { projectId: 'none' }, [event])
  const [found] = await find('none', [positionOf(event)])
  const { userId, eventName, eventId } = event
  expect(found!.id).toBe(heldSentId({ projectId: 'none', userId, eventName, eventId }))
})

test('of 300 events at a time, those asked for are found, and nothing of what is not there', async () => {
  const many = Array.from({ length: 300 }, () =>
    anEvent({ projectId: 'some', eventTimeMs: NOON_MS }),
  )
  await writeRows(session, events, { projectId: 'some' }, many)
  const absent = anEvent({ projectId: 'some', eventTimeMs: NOON_MS })
  const asked = [...many.filter((_, index) => index % 2 === 0), absent]
  const found = await find('some', asked.map(positionOf))
  expect(found.map(({ eventId }) => eventId).sort()).toEqual(
    asked
      .slice(0, -1)
      .map((event) => uuidText(event.eventId))
      .sort(),
  )
})

test('copies under several times are all read', async () => {
  const copies = [0, 1, 2].map((ms) =>
    anEvent({ projectId: 'copies', sentId: 'one', eventTimeMs: NOON_MS + ms }),
  )
  await writeRows(session, events, { projectId: 'copies' }, copies)
  expect((await collect(scanOf('copies'))).flat()).toHaveLength(3)
})

describe('a scan of 5,300 events, with ties', async () => {
  const projectId = 'many'
  const many = Array.from({ length: 5_300 }, (_, index) =>
    anEvent({
      ...{ projectId, properties: `{"index":${index}}` },
      eventTimeMs: NOON_MS + ((index * 7_919) % 1_000),
    }),
  )
  await writeRows(session, events, { projectId }, many)

  test.each([undefined, 5_000, 100, 2_650])(
    'goes past the pages of %s rows, in the order (time, event id)',
    async (pageRowsMax) => {
      const pages = await collect(
        scanOf(projectId, pageRowsMax === undefined ? {} : { pageRowsMax }),
      )
      const found = pages.flat()
      expect(pages.length).toBeGreaterThan(1)
      expect(found).toHaveLength(5_300)
      const keys = found.map(({ eventTimeMs, eventId }) => `${eventTimeMs} ${eventId}`)
      expect(keys).toEqual(keys.toSorted())
    },
  )

  test('brings the properties where they are asked for', async () => {
    const found = (await collect(scanOf(projectId, { withProperties: true }))).flat()
    const indexes = found.map(
      ({ properties }) => (JSON.parse(properties) as { index: number }).index,
    )
    expect(new Set(indexes).size).toBe(5_300)
  })

  test('reads its own bucket, day and project only', async () => {
    for (const elsewhere of [
      { bucket: bucketDay.bucket + 1 },
      { day: bucketDay.day + 1 },
      { projectId: 'many2' },
    ])
      expect((await collect(scanOf(projectId, elsewhere))).flat()).toEqual([])
  })
})

test('events of 60 KB after thousands of small ones are read, though a page of them is refused', async () => {
  const projectId = 'large'
  const small = Array.from({ length: 4_000 }, (_, index) =>
    anEvent({ projectId, eventTimeMs: NOON_MS + index }),
  )
  const large = Array.from({ length: 560 }, (_, index) =>
    anEvent({
      ...{ projectId, eventTimeMs: NOON_MS + 10_000 + index },
      properties: `{"text":"${'x'.repeat(60_000)}"}`,
    }),
  )
  await writeRows(session, events, { projectId }, small)
  for (const one of large) await writeRows(session, events, { projectId }, [one])
  for (const withProperties of [false, true]) {
    const found = (await collect(scanOf(projectId, { withProperties }))).flat()
    expect(found).toHaveLength(4_560)
  }
  expect(await find(projectId, large.map(positionOf))).toHaveLength(560)
})

test('a row lives to the end of its day, and the retention more', async () => {
  const projectId = 'ttl'
  const receivedAtMs = Date.now()
  const event = anEvent({ projectId, eventTimeMs: NOON_MS, receivedAtMs })
  await writeRows(session, events, { projectId, retentionDays: 30 }, [event])
  const expectedS = ((bucketDay.day + 1 + 30) * DAY_MS - receivedAtMs) / 1_000
  const cql = `SELECT ttl(properties) AS ttl FROM events WHERE project = ?
    AND bucket = ${bucketDay.bucket} AND day = ${bucketDay.day}`
  const [row] = await session.execute({ table: 'test', operation: 'ttl', cql }, [projectId])
  expect(Math.abs((row!['ttl'] as number) - expectedS)).toBeLessThan(60)
})

test('what an event does not have is not written: a scan meets no tombstone', async () => {
  const projectId = 'absent'
  const many = Array.from({ length: 300 }, () =>
    anEvent({ projectId, sentId: null, eventTimeMs: NOON_MS }),
  )
  await writeRows(session, events, { projectId }, many)
  expect((await collect(scanOf(projectId))).flat()).toHaveLength(300)
})
