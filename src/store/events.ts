import { types } from 'cassandra-driver'
import { bucketOf } from '../event/bucket.ts'
import { dayOf } from '../event/day.ts'
import type { Event } from '../event/event.ts'
import {
  SENT_COLUMNS,
  receivedAtMsOf,
  STORED_COLUMNS,
  storedEventOf,
  type EventCells,
  type EventPosition,
  type RowWrite,
  type StoredEvent,
  USING,
  WRITTEN,
} from './event-row.ts'
import {
  intKey,
  LARGE_ROWS_PER_PAGE_MAX,
  routingKeyOf,
  smallintKey,
  type Session,
  type Statement,
} from './session.ts'

const INSERT = `INSERT INTO events (project, bucket, day, event_time, event_id, user_id,
  ${SENT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ${USING}`

const PARTITION = 'project = ? AND bucket = ? AND day = ?'

interface ScannedColumns {
  readonly withProperties: boolean
  readonly withSessionId?: boolean
  readonly withReceivedAt?: boolean
}

function scanOf({ withProperties, withSessionId, withReceivedAt }: ScannedColumns): Statement {
  const columns = ['event_time', 'event_id', 'user_id', 'event']
  if (withProperties) columns.push('properties')
  if (withSessionId) columns.push('session_id')
  if (withReceivedAt) columns.push(WRITTEN)
  const cql = `SELECT ${columns.join(', ')} FROM events WHERE ${PARTITION}`
  return { table: 'events', operation: 'scan', cql }
}
const FIND: Statement = {
  table: 'events',
  operation: 'find',
  cql: `SELECT ${STORED_COLUMNS} FROM events
    WHERE ${PARTITION} AND (event_time, event_id) IN ?`,
}
const NEWEST: Statement = {
  table: 'events',
  operation: 'newest',
  cql: `SELECT user_id, ${STORED_COLUMNS} FROM events
    WHERE ${PARTITION} AND event_time >= ? AND (event_time, event_id) < (?, ?)
    ORDER BY event_time DESC, event_id DESC`,
}

export const EVENT_PAGE_ROWS_MAX = 2_000
/** As many as our guardrail lets into one IN; a page of them fits, if each takes 64 KiB. */
const FOUND_AT_ONCE_MAX = 100

export interface ScannedEvent {
  readonly eventTimeMs: number
  readonly eventId: string
  readonly userId: string
  readonly eventName: string
  /** Null also when the scan leaves it out. */
  readonly sessionId: string | null
  /** JSON text; empty when the scan leaves properties out. */
  readonly properties: string
  /** 0 when the scan leaves it out. */
  readonly receivedAtMs: number
}

export type Events = ReturnType<typeof openEvents>

/** The raw events: the truth. One partition a bucket and UTC day, in order (time, event id). */
export function openEvents(session: Session) {
  return {
    /** The write of one event. It is idempotent: the same event is the same row. */
    toRow(projectId: Buffer, event: Event, cells: EventCells): RowWrite {
      const bucket = bucketOf(event.userId)
      const day = dayOf(event.eventTimeMs)
      const key = [projectId, smallintKey(bucket), intKey(day)]
      const { eventTime, eventId, userId, sent, written, sizeBytes } = cells
      return {
        cql: INSERT,
        values: [...key, eventTime, eventId, userId, ...sent, ...written],
        partition: `${bucket} ${day}`,
        routingKey: () => routingKeyOf(...key),
        sizeBytes,
      }
    },

    /** Returns a user's events at these positions, of one UTC day; in no order, without those not there. */
    async find(read: {
      readonly projectId: string
      readonly userId: string
      readonly day: number
      readonly positions: readonly EventPosition[]
    }): Promise<StoredEvent[]> {
      const { projectId, userId, day, positions } = read
      const found: StoredEvent[] = []
      for (let from = 0; from < positions.length; from += FOUND_AT_ONCE_MAX) {
        const keys = positions
          .slice(from, from + FOUND_AT_ONCE_MAX)
          .map(
            ({ eventTimeMs, eventId }) =>
              new types.Tuple(new Date(eventTimeMs), types.Uuid.fromString(eventId)),
          )
        const rows = await session.execute(FIND, [projectId, bucketOf(userId), day, keys])
        found.push(...rows.map((row) => storedEventOf(row, read)))
      }
      return found
    },

    /**
     * Reads a page of up to `rowsMax` events (at most 120, so that it fits if each takes 64 KiB) of one bucket
     * and day, newest first: those older than `before` and not older than `startMs`. `page` goes on after a
     * page before. Copies of an event under several times are all told.
     */
    async newest(
      read: {
        readonly projectId: string
        readonly bucket: number
        readonly day: number
        readonly startMs: number
        readonly before: EventPosition
      },
      { rowsMax, page }: { readonly rowsMax: number; readonly page: string | null },
    ): Promise<{ readonly events: StoredEvent[]; readonly nextPage: string | null }> {
      const { projectId, bucket, day, startMs, before } = read
      const beforeId = types.Uuid.fromString(before.eventId)
      const values = [projectId, bucket, day, startMs, before.eventTimeMs, beforeId]
      const pageRowsMax = Math.min(rowsMax, LARGE_ROWS_PER_PAGE_MAX)
      const { rows, nextPage } = await session.page(NEWEST, values, { pageRowsMax, page })
      const toEvent = (row: types.Row) =>
        storedEventOf(row, { projectId, userId: row['user_id'] as string })
      return { events: rows.map(toEvent), nextPage }
    },

    /**
     * Yields the events of one bucket and day in the order (time, event id), one array a page; pages may
     * be empty. Copies of an event under several times are all yielded.
     */
    async *scan(
      scan: ScannedColumns & {
        readonly projectId: string
        readonly bucket: number
        readonly day: number
        readonly pageRowsMax?: number
      },
    ): AsyncGenerator<ScannedEvent[]> {
      const statement = scanOf(scan)
      const values = [scan.projectId, scan.bucket, scan.day]
      const pages = session.pages(statement, values, scan.pageRowsMax ?? EVENT_PAGE_ROWS_MAX)
      for await (const rows of pages) yield rows.map(scannedEventOf)
    },
  }
}

function scannedEventOf(row: types.Row): ScannedEvent {
  return {
    eventTimeMs: (row['event_time'] as Date).getTime(),
    eventId: String(row['event_id']),
    userId: row['user_id'] as string,
    eventName: row['event'] as string,
    sessionId: (row['session_id'] as string | null | undefined) ?? null,
    properties: (row['properties'] as string | null | undefined) ?? '',
    receivedAtMs: receivedAtMsOf(row),
  }
}
