import type { Session, Statement } from './session.ts'

const SEEN_FIRST: Statement = {
  table: 'event_names',
  operation: 'seenFirst',
  cql: 'INSERT INTO event_names (project, event, first_seen) VALUES (?, ?, ?) USING TIMESTAMP ?',
}
const SEEN_LAST: Statement = {
  table: 'event_names',
  operation: 'seenLast',
  cql: 'INSERT INTO event_names (project, event, last_seen) VALUES (?, ?, ?) USING TIMESTAMP ?',
}
const LIST: Statement = {
  table: 'event_names',
  operation: 'list',
  cql: 'SELECT event, first_seen, last_seen FROM event_names WHERE project = ?',
}
/** The greatest time that a JavaScript date can hold; above any event time. */
const TIME_MS_MAX = 8_640_000_000_000_000

export interface SeenEventName {
  readonly eventName: string
  readonly firstSeenMs: number
  readonly lastSeenMs: number
}

export type EventNames = ReturnType<typeof openEventNames>

/** The event names of a project, and between which event times they were seen. */
export function openEventNames(session: Session) {
  return {
    /** Widens the span of a name. In any order, any number of times: the widest span stays. */
    async widen(projectId: string, { eventName, firstSeenMs, lastSeenMs }: SeenEventName) {
      const first = [projectId, eventName, firstSeenMs, BigInt(TIME_MS_MAX - firstSeenMs)]
      const last = [projectId, eventName, lastSeenMs, BigInt(lastSeenMs)]
      await Promise.all([session.execute(SEEN_FIRST, first), session.execute(SEEN_LAST, last)])
    },

    /** Returns the names in the order of their text. */
    async list(projectId: string): Promise<SeenEventName[]> {
      const rows = await session.all(LIST, [projectId])
      return rows.flatMap((row) => {
        const [firstSeen, lastSeen] = [row['first_seen'], row['last_seen']] as (Date | null)[]
        if (!firstSeen || !lastSeen) return [] // Its other half is being written.
        const eventName = row['event'] as string
        return [{ eventName, firstSeenMs: firstSeen.getTime(), lastSeenMs: lastSeen.getTime() }]
      })
    },
  }
}
