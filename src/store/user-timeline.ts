import { types } from 'cassandra-driver'
import { DAY_MS, dayOf, monthOf } from '../event/day.ts'
import type { Event } from '../event/event.ts'
import {
  SHARED_COLUMNS,
  storedEventOf,
  type EventCells,
  type RowWrite,
  type StoredEvent,
} from './event-row.ts'
import {
  intKey,
  LARGE_ROWS_PER_PAGE_MAX,
  routingKeyOf,
  type Session,
  type Statement,
} from './session.ts'

const INSERT = `INSERT INTO user_timeline (project, user_id, month, event_time, event_id,
  ${SHARED_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TTL ?`
const ID_PAGE_ROWS_MAX = 5_000
const COLUMNS = `event_time, event_id, ${SHARED_COLUMNS}`
const PARTITION = 'project = ? AND user_id = ? AND month = ?'

const NEWEST: Statement = {
  table: 'user_timeline',
  operation: 'newest',
  cql: `SELECT ${COLUMNS} FROM user_timeline WHERE ${PARTITION}
    AND event_time >= ? AND (event_time, event_id) < (?, ?) LIMIT ?`,
}
const LATER_OF_DAY: Statement = {
  table: 'user_timeline',
  operation: 'laterOfDay',
  cql: `SELECT event_id, received_at FROM user_timeline WHERE ${PARTITION}
    AND (event_time, event_id) >= (?, ?) AND event_time < ?`,
}

/** A place between two events of a timeline: what comes next is older. */
export interface TimelinePosition {
  readonly eventTimeMs: number
  readonly eventId: string
}

export type UserTimeline = ReturnType<typeof openUserTimeline>

/** A user's events, newest first; one partition a user and UTC month. */
export function openUserTimeline(session: Session) {
  return {
    /** The write of one event. It is idempotent: the same event is the same row. */
    toRow(projectId: Buffer, event: Event, cells: EventCells): RowWrite {
      const { eventTime, eventId, userId, shared, ttl, sizeBytes } = cells
      const month = monthOf(event.eventTimeMs)
      const key = [projectId, userId, intKey(month)]
      return {
        cql: INSERT,
        values: [...key, eventTime, eventId, ...shared, ttl],
        partition: `${month} ${event.userId}`,
        routingKey: () => routingKeyOf(...key),
        sizeBytes,
      }
    },

    /**
     * Returns up to `rowsMax` rows of one month that are older than `before` and not older than
     * `startMs`, newest first. Copies of an event under several times are all returned.
     */
    async newest(read: {
      readonly projectId: string
      readonly userId: string
      readonly month: number
      readonly startMs: number
      readonly before: TimelinePosition
      readonly rowsMax: number
    }): Promise<StoredEvent[]> {
      const { projectId, userId, month, startMs, before, rowsMax } = read
      const eventId = types.Uuid.fromString(before.eventId)
      const rows = await session.all(
        NEWEST,
        [projectId, userId, month, startMs, before.eventTimeMs, eventId, rowsMax],
        LARGE_ROWS_PER_PAGE_MAX,
      )
      return rows.map((row) => storedEventOf(row, userId))
    },

    /**
     * Returns the ids of the events at or after `from`, up to the end of its UTC day, that were received after
     * `erasedAtMs`.
     */
    async laterIdsOfDay(read: {
      readonly projectId: string
      readonly userId: string
      readonly from: TimelinePosition
      readonly erasedAtMs?: number
    }): Promise<string[]> {
      const { projectId, userId, from, erasedAtMs = -Infinity } = read
      const ids: string[] = []
      const values = [
        projectId,
        userId,
        monthOf(from.eventTimeMs),
        from.eventTimeMs,
        types.Uuid.fromString(from.eventId),
        (dayOf(from.eventTimeMs) + 1) * DAY_MS,
      ]
      // The server reads whole rows, whatever is selected of them, so pages are bounded by size here too.
      for await (const rows of session.pages(LATER_OF_DAY, values, ID_PAGE_ROWS_MAX))
        for (const row of rows)
          if ((row['received_at'] as Date).getTime() > erasedAtMs) ids.push(String(row['event_id']))
      return ids
    },
  }
}
