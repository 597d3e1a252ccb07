import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import { DAY_MS, dayOf, monthOf, monthStartMs } from '../event/day.ts'
import type { StoredEvent } from '../store/event-row.ts'
import type { Project } from '../store/projects.ts'
import type { Snapshots } from '../store/snapshots.ts'
import type { TimelinePosition, UserTimeline } from '../store/user-timeline.ts'
import type { Admission } from './admission.ts'

export const USER_EVENTS_MAX = 1_000
/** Months read at once, one wave after the other, the last one again and again: most users need one. */
const WAVES = [1, 3, 12] as const
/** After every id that an event can have: Cassandra orders UUIDs by version first. */
const EVENT_ID_LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

export type UserEvents = ReturnType<typeof openUserEvents>

/** A user's newest events, from the timeline: months newest first, a few at a time. */
export function openUserEvents(dependencies: {
  readonly userTimeline: UserTimeline
  readonly snapshots: Snapshots
  readonly admit: Admission
  readonly clock: Clock
}) {
  const { userTimeline, snapshots, admit, clock } = dependencies

  /** Reads up to `count` rows of one month, each event of a day once; `seen` tells of newer copies. */
  async function readMonth(read: MonthRead, count: number, seen: Set<string>) {
    const found: StoredEvent[] = []
    let { before } = read
    while (found.length < count) {
      const rowsMax = count - found.length
      const rows = await userTimeline.newest({ ...read, before, rowsMax })
      for (const event of rows) {
        if (event.receivedAtMs <= read.erasedAtMs) continue
        const key = copyKey(event)
        if (!seen.has(key)) found.push(event)
        seen.add(key)
      }
      if (rows.length < rowsMax) break
      before = rows.at(-1)!
    }
    return found
  }

  async function newest(project: Project, userId: string, page: UserEventsPage) {
    const { projectId, retentionDays } = project
    const nowMs = clock.nowMs()
    const startMs = nowMs - retentionDays * DAY_MS
    const count = page.limit + 1
    const seen = new Set<string>()
    const { root } = await snapshots.root(projectId)
    const erasedAtMs = (await snapshots.erased(projectId, root)).erasedAtMs(userId)
    const newestMs = nowMs + 2 * DAY_MS
    let before: TimelinePosition = { eventTimeMs: newestMs, eventId: EVENT_ID_LAST }
    if (page.cursor !== undefined) {
      before = positionOf(page.cursor, newestMs)
      const later = await userTimeline.laterIdsOfDay({
        projectId,
        userId,
        from: before,
        erasedAtMs,
      })
      for (const eventId of later) seen.add(copyKey({ eventId, eventTimeMs: before.eventTimeMs }))
    }
    const found: StoredEvent[] = []
    let month = monthOf(before.eventTimeMs)
    for (let wave = 0; found.length < count && month >= monthOf(startMs); wave++) {
      const width = WAVES[wave] ?? WAVES.at(-1)!
      const months = Array.from({ length: width }, (_, index) => month - index)
      const parts = await Promise.all(
        months
          .filter((one) => one >= monthOf(startMs))
          .map((one) => {
            const end = { eventTimeMs: monthStartMs(one + 1), eventId: EVENT_ID_LAST }
            const start = one === monthOf(before.eventTimeMs) ? before : end
            const read = { projectId, userId, month: one, startMs, before: start, erasedAtMs }
            return readMonth(read, count - found.length, seen)
          }),
      )
      found.push(...parts.flat())
      month -= width
    }
    return found
  }

  return {
    /** Returns up to `limit` events, newest first, and a cursor while there are older ones. */
    async ask(project: Project, userId: string, page: UserEventsPage) {
      const found = await admit(() => newest(project, userId, page))
      const events = found.slice(0, page.limit)
      const hasMore = found.length > page.limit
      return { events, cursor: hasMore ? cursorOf(events.at(-1)!) : undefined }
    },
  }
}

interface UserEventsPage {
  readonly limit: number
  readonly cursor?: string | undefined
}

interface MonthRead {
  readonly projectId: string
  readonly userId: string
  readonly month: number
  readonly startMs: number
  readonly before: TimelinePosition
  /** What was received by then is gone. */
  readonly erasedAtMs: number
}

// Copies of an event have its id, and lie on its day.
function copyKey({ eventTimeMs, eventId }: TimelinePosition): string {
  return `${dayOf(eventTimeMs)} ${eventId}`
}

function cursorOf({ eventTimeMs, eventId }: TimelinePosition): string {
  return Buffer.from(`${eventTimeMs} ${eventId}`).toString('base64url')
}

function positionOf(cursor: string, newestMs: number): TimelinePosition {
  const text = Buffer.from(cursor, 'base64url').toString('latin1')
  const match = /^(-?\d{1,16}) ([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/.exec(text)
  if (match === null)
    throw new AppError('INVALID_QUERY', 'cursor: not one of ours', {
      faults: [{ path: 'cursor', message: 'not one of ours' }],
    })
  const eventTimeMs = Math.max(0, Math.min(Number(match[1]), newestMs))
  return { eventTimeMs, eventId: match[2]! }
}
