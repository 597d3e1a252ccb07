import { types } from 'cassandra-driver'
import { DAY_MS, dayOf } from '../event/day.ts'
import type { Event } from '../event/event.ts'
import { heldSentId } from '../event/event-id.ts'
import { intKey } from './session.ts'

/** One row to be written, and what a batch must know of it. */
export interface RowWrite {
  readonly cql: string
  readonly values: unknown[]
  /** The same text for rows of the same partition. */
  readonly partition: string
  readonly routingKey: () => Buffer
  /** An upper estimate of what the server counts against `batch_size_warn_threshold`. */
  readonly sizeBytes: number
}

/** Where an event stands among those of its bucket, or of its user: by time, then by id. */
export interface EventPosition {
  readonly eventTimeMs: number
  /** As text. */
  readonly eventId: string
}

/** Before and after every id that an event can have: Cassandra orders UUIDs by version first. */
export const EVENT_ID_FIRST = '00000000-0000-0000-0000-000000000000'
export const EVENT_ID_LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** An event as it is told to those who ask; `properties` is the JSON text that was sent. */
export interface StoredEvent extends Omit<Event, 'eventId' | 'sentId'> {
  /** As text. */
  readonly eventId: string
  /** The sender's, or the one that was drawn for it. */
  readonly id: string
}

/** The columns of what was sent, in the order of `EventCells.sent`. */
export const SENT_COLUMNS = 'event, anonymous_id, session_id, sent_id, properties'

/** How both rows of an event are written; see `EventCells.written`. */
export const USING = 'USING TIMESTAMP ? AND TTL ?'
// Timestamps, TTLs and lengths of a dozen cells, generously.
const ROW_OVERHEAD_BYTES = 160

/**
 * The values of an event's rows, as Cassandra takes them: the driver sends a Buffer as it is, whatever the
 * column's type, so both tables share the encoding of their keys.
 */
export interface EventCells {
  readonly eventTime: Buffer
  readonly eventId: Buffer
  readonly userId: Buffer
  readonly sent: readonly unknown[]
  /** The values of `USING`: the moment of arrival as the time of writing, in us, and the TTL. */
  readonly written: readonly Buffer[]
  readonly sizeBytes: number
}

export function eventCells(event: Event, retentionDays: number): EventCells {
  const { sentId, eventTimeMs, receivedAtMs } = event
  const sent = [
    Buffer.from(event.eventName),
    textCell(event.anonymousId),
    textCell(event.sessionId),
    textCell(sentId),
    Buffer.from(event.properties),
  ]
  const userId = Buffer.from(event.userId)
  const textBytes = sent.reduce<number>(
    (bytes, cell) => bytes + (cell instanceof Buffer ? cell.length : 0),
    userId.length,
  )
  return {
    eventTime: bigintCell(eventTimeMs),
    eventId: event.eventId,
    userId,
    sent,
    written: [
      bigintCell(1_000 * receivedAtMs),
      intKey(ttlSeconds(eventTimeMs, retentionDays, receivedAtMs)),
    ],
    sizeBytes: ROW_OVERHEAD_BYTES + textBytes,
  }
}

// An empty text stays one; an absent one is not written at all, which null would be, as a tombstone.
function textCell(text: string | null): unknown {
  return text === null ? types.unset : Buffer.from(text)
}

function bigintCell(value: number): Buffer {
  const cell = Buffer.allocUnsafe(8)
  cell.writeBigInt64BE(BigInt(value))
  return cell
}

/**
 * Returns the seconds that a row of this event lives: to the end of its day, and the retention more,
 * so that all rows of a day end together. Never 0, which would mean for ever.
 */
export function ttlSeconds(eventTimeMs: number, retentionDays: number, nowMs: number): number {
  const endMs = (dayOf(eventTimeMs) + 1 + retentionDays) * DAY_MS
  return Math.max(1, Math.ceil((endMs - nowMs) / 1000))
}

/** When a row of `events` was written: what `receivedAtMsOf` reads. */
export const WRITTEN = 'WRITETIME(event) AS written_us'

/** When the event of a row arrived; 0 where `WRITTEN` was not asked for. */
export function receivedAtMsOf(row: types.Row): number {
  return Number(row['written_us'] ?? 0) / 1_000
}

/** What `storedEventOf` reads of a row of `events`. */
export const STORED_COLUMNS = `event_time, event_id, ${SENT_COLUMNS}, ${WRITTEN}`

export function storedEventOf(
  row: types.Row,
  { projectId, userId }: { readonly projectId: string; readonly userId: string },
): StoredEvent {
  const eventId = row['event_id'] as types.Uuid
  const eventName = row['event'] as string
  const sentId = row['sent_id'] as string | null
  return {
    eventId: String(eventId),
    id: sentId ?? heldSentId({ projectId, userId, eventName, eventId: eventId.getBuffer() }),
    eventName,
    userId,
    anonymousId: row['anonymous_id'] as string | null,
    sessionId: row['session_id'] as string | null,
    eventTimeMs: (row['event_time'] as Date).getTime(),
    receivedAtMs: receivedAtMsOf(row),
    properties: row['properties'] as string,
  }
}
