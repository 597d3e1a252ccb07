import type { types } from 'cassandra-driver'
import { bucketOf } from '../event/bucket.ts'
import { dayOf } from '../event/day.ts'
import type { Event } from '../event/event.ts'
import { SHARED_COLUMNS, type EventCells, type RowWrite } from './event-row.ts'
import { intKey, routingKeyOf, smallintKey, type Session, type Statement } from './session.ts'

const INSERT = `INSERT INTO events (project, bucket, day, event_time, event_id, user_id,
  ${SHARED_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TTL ?`

const scanOf = (withProperties: boolean, withReceivedAt: boolean): Statement => ({
  table: 'events',
  operation: 'scan',
  cql: `SELECT event_time, event_id, user_id, event${withProperties ? ', properties' : ''}${
    withReceivedAt ? ', received_at' : ''
  } FROM events WHERE project = ? AND bucket = ? AND day = ?`,
})

export const EVENT_PAGE_ROWS_MAX = 2_000

export interface ScannedEvent {
  readonly eventTimeMs: number
  readonly eventId: string
  readonly userId: string
  readonly eventName: string
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
      const { eventTime, eventId, userId, shared, ttl, sizeBytes } = cells
      return {
        cql: INSERT,
        values: [...key, eventTime, eventId, userId, ...shared, ttl],
        partition: `${bucket} ${day}`,
        routingKey: () => routingKeyOf(...key),
        sizeBytes,
      }
    },

    /**
     * Yields the events of one bucket and day in the order (time, event id), one array a page; pages may
     * be empty. Copies of an event under several times are all yielded.
     */
    async *scan(scan: {
      readonly projectId: string
      readonly bucket: number
      readonly day: number
      readonly withProperties: boolean
      readonly withReceivedAt?: boolean
      readonly pageRowsMax?: number
    }): AsyncGenerator<ScannedEvent[]> {
      const statement = scanOf(scan.withProperties, scan.withReceivedAt ?? false)
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
    properties: (row['properties'] as string | null | undefined) ?? '',
    receivedAtMs: (row['received_at'] as Date | undefined)?.getTime() ?? 0,
  }
}
