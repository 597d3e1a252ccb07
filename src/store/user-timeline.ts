import { types } from 'cassandra-driver'
import { DAY_MS, dayOf, monthOf } from '../event/day.ts'
import type { Event } from '../event/event.ts'
import { USING, type EventCells, type EventPosition, type RowWrite } from './event-row.ts'
import { intKey, routingKeyOf, type Session, type Statement } from './session.ts'

const INSERT = `INSERT INTO user_timeline (project, user_id, month, event_time, event_id)
  VALUES (?, ?, ?, ?, ?) ${USING}`
/** What the server counts of a row's times, id and keys, beside the user's id. */
const ROW_BYTES = 100
const PARTITION = 'project = ? AND user_id = ? AND month = ?'

const NEWEST: Statement = {
  table: 'user_timeline',
  operation: 'newest',
  cql: `SELECT event_time, event_id FROM user_timeline WHERE ${PARTITION}
    AND event_time >= ? AND (event_time, event_id) < (?, ?) LIMIT ?`,
}
const LATER_OF_DAY: Statement = {
  table: 'user_timeline',
  operation: 'laterOfDay',
  cql: `SELECT event_time, event_id FROM user_timeline WHERE ${PARTITION}
    AND (event_time, event_id) >= (?, ?) AND event_time < ?`,
}

export type UserTimeline = ReturnType<typeof openUserTimeline>

/** Where a user's events are found in `events`, newest first; one partition a user and UTC month. */
export function openUserTimeline(session: Session) {
  return {
    /** The write of one event. It is idempotent: the same event is the same row. */
    toRow(projectId: Buffer, event: Event, cells: EventCells): RowWrite {
      const { eventTime, eventId, userId, written } = cells
      const month = monthOf(event.eventTimeMs)
      const key = [projectId, userId, intKey(month)]
      return {
        cql: INSERT,
        values: [...key, eventTime, eventId, ...written],
        partition: `${month} ${event.userId}`,
        routingKey: () => routingKeyOf(...key),
        sizeBytes: ROW_BYTES + userId.length,
      }
    },

    /**
     * Returns where up to `rowsMax` events of one month are that are older than `before` and not older
     * than `startMs`, newest first. Copies of an event under several times are all told.
     */
    async newest(read: {
      readonly projectId: string
      readonly userId: string
      readonly month: number
      readonly startMs: number
      readonly before: EventPosition
      readonly rowsMax: number
    }): Promise<EventPosition[]> {
      const { projectId, userId, month, startMs, before, rowsMax } = read
      const eventId = types.Uuid.fromString(before.eventId)
      const values = [projectId, userId, month, startMs, before.eventTimeMs, eventId, rowsMax]
      return (await session.all(NEWEST, values)).map(positionOf)
    },

    /** Tells of the events at or after `from`, up to the end of its UTC day. */
    async laterOfDay(read: {
      readonly projectId: string
      readonly userId: string
      readonly from: EventPosition
    }): Promise<EventPosition[]> {
      const { projectId, userId, from } = read
      const values = [
        projectId,
        userId,
        monthOf(from.eventTimeMs),
        from.eventTimeMs,
        types.Uuid.fromString(from.eventId),
        (dayOf(from.eventTimeMs) + 1) * DAY_MS,
      ]
      return (await session.all(LATER_OF_DAY, values)).map(positionOf)
    },
  }
}

function positionOf(row: types.Row): EventPosition {
  return {
    eventTimeMs: (row['event_time'] as Date).getTime(),
    eventId: String(row['event_id']),
  }
}
