import { describe, expect, test } from 'vitest'
import { bucketOf } from '../../src/event/bucket.ts'
import { dayOf } from '../../src/event/day.ts'
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
      eventId: uuidOf(event.eventId),
      ...{ userId: '4711', eventName: 'page_view', properties: '', receivedAtMs: 0 },
    },
  ])
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
})

test('a row lives to the end of its day, and the retention more', async () => {
  const projectId = 'ttl'
  const receivedAtMs = Date.now()
  const event = anEvent({ projectId, eventTimeMs: NOON_MS, receivedAtMs })
  for (const table of [events, stores.userTimeline])
    await writeRows(session, table, { projectId, retentionDays: 30 }, [event])
  const expectedS = ((bucketDay.day + 1 + 30) * DAY_MS - receivedAtMs) / 1_000
  for (const cql of [
    `SELECT ttl(properties) AS ttl FROM events WHERE project = ? AND bucket = ${bucketDay.bucket}
       AND day = ${bucketDay.day}`,
    `SELECT ttl(properties) AS ttl FROM user_timeline WHERE project = ? AND user_id = '4711'
       AND month = ${new Date(NOON_MS).getUTCFullYear() * 12 - 1970 * 12 + new Date(NOON_MS).getUTCMonth()}`,
  ]) {
    const [row] = await session.execute({ table: 'test', operation: 'ttl', cql }, [projectId])
    expect(Math.abs((row!['ttl'] as number) - expectedS)).toBeLessThan(60)
  }
})

test('what an event does not have is not written: a scan meets no tombstone', async () => {
  const projectId = 'absent'
  const many = Array.from({ length: 300 }, () =>
    anEvent({ projectId, sentId: null, eventTimeMs: NOON_MS }),
  )
  await writeRows(session, events, { projectId }, many)
  expect((await collect(scanOf(projectId))).flat()).toHaveLength(300)
})

function uuidOf(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
