import type { Session, Statement } from './session.ts'

const ADD: Statement = {
  table: 'event_counts',
  operation: 'add',
  cql: `UPDATE event_counts SET events = events + ?
    WHERE project = ? AND event = ? AND day = ? AND minute = ?`,
  isIdempotent: false,
}
const READ: Statement = {
  table: 'event_counts',
  operation: 'read',
  cql: 'SELECT minute, events FROM event_counts WHERE project = ? AND event = ? AND day = ?',
}

export interface MinuteCount {
  readonly projectId: string
  readonly eventName: string
  readonly day: number
  /** Of the UTC day, 0 to 1439. */
  readonly minute: number
  readonly count: number
}

export type EventCounts = ReturnType<typeof openEventCounts>

/** Events per minute, live and approximate: a time-out leaves open whether an update was counted. */
export function openEventCounts(session: Session) {
  return {
    async add({ projectId, eventName, day, minute, count }: MinuteCount): Promise<void> {
      await session.execute(ADD, [BigInt(count), projectId, eventName, day, minute])
    },

    /** Returns the counts of one UTC day, by minute, ascending; minutes without events are absent. */
    async read(projectId: string, eventName: string, day: number): Promise<MinuteCount[]> {
      const rows = await session.all(READ, [projectId, eventName, day])
      return rows.map((row) => ({
        ...{ projectId, eventName, day },
        minute: row['minute'] as number,
        count: Number(row['events']),
      }))
    },
  }
}
