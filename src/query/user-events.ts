import pLimit from 'p-limit'
import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import { DAY_MS, dayOf, monthOf, monthStartMs } from '../event/day.ts'
import { EVENT_ID_LAST, type EventPosition, type StoredEvent } from '../store/event-row.ts'
import type { Events } from '../store/events.ts'
import type { Project } from '../store/projects.ts'
import type { Snapshots } from '../store/snapshots.ts'
import type { UserTimeline } from '../store/user-timeline.ts'
import type { Admission } from './admission.ts'
import { eventsAt, positionKey } from './events-at.ts'

export const USER_EVENTS_MAX = 1_000
/** Months read at once, one wave after the other, the last one again and again: most users need one. */
const WAVES = [1, 3, 12] as const

export type UserEvents = ReturnType<typeof openUserEvents>

/** A user's newest events: found in the timeline, months newest first, and read day by day. */
export function openUserEvents(dependencies: {
  readonly userTimeline: UserTimeline
  readonly events: Events
  readonly snapshots: Snapshots
  readonly readsInFlightMax: number
  readonly admit: Admission
  readonly clock: Clock
}) {
  const { userTimeline, events, snapshots, readsInFlightMax, admit, clock } = dependencies
  const limit = pLimit(readsInFlightMax)

  async function readAt(owner: Owner, positions: readonly EventPosition[]) {
    const found = await eventsAt({ events, limit }, owner, positions)
    return found.filter(({ receivedAtMs }) => receivedAtMs > owner.erasedAtMs)
  }

  /** Reads up to `count` events of one month, each of a day once; `seen` tells of newer copies. */
  async function readMonth(read: MonthRead, count: number, seen: Set<string>) {
    const found: StoredEvent[] = []
    let { before } = read
    while (found.length < count) {
      const rowsMax = count - found.length
      const positions = await limit(() => userTimeline.newest({ ...read, before, rowsMax }))
      const unseen = positions.filter((position) => !seen.has(copyKey(position)))
      for (const event of await readAt(read, unseen)) {
        const key = copyKey(event)
        if (!seen.has(key)) found.push(event)
        seen.add(key)
      }
      if (positions.length < rowsMax) break
      before = positions.at(-1)!
    }
    return found
  }

  /** Notes what the pages before have told of the day on which a page begins. */
  async function noteLater(owner: Owner, from: EventPosition, seen: Set<string>): Promise<void> {
    const later = await userTimeline.laterOfDay({ ...owner, from })
    const told = owner.erasedAtMs === -Infinity ? later : await readAt(owner, later)
    for (const position of told) seen.add(copyKey(position))
  }

  /** Reads one event more than the page takes, where there is one. */
  async function newest(project: Project, userId: string, page: UserEventsPage) {
    const { projectId, retentionDays } = project
    const nowMs = clock.nowMs()
    const startMs = nowMs - retentionDays * DAY_MS
    const count = page.limit + 1
    const seen = new Set<string>()
    const { root } = await snapshots.root(projectId)
    const erasedAtMs = (await snapshots.erased(projectId, root)).erasedAtMs(userId)
    const owner = { projectId, userId, erasedAtMs }
    const newestMs = nowMs + 2 * DAY_MS
    let before: EventPosition = { eventTimeMs: newestMs, eventId: EVENT_ID_LAST }
    if (page.cursor !== undefined) {
      before = positionOf(page.cursor, newestMs)
      await noteLater(owner, before, seen)
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
            const read = { ...owner, month: one, startMs, before: start }
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

/** A user, and what was received of this one after the erasure, if there was any: the rest is gone. */
interface Owner {
  readonly projectId: string
  readonly userId: string
  readonly erasedAtMs: number
}

interface MonthRead extends Owner {
  readonly month: number
  readonly startMs: number
  readonly before: EventPosition
}

// Copies of an event have its id, and lie on its day.
function copyKey({ eventTimeMs, eventId }: EventPosition): string {
  return `${dayOf(eventTimeMs)} ${eventId}`
}

function cursorOf(position: EventPosition): string {
  return Buffer.from(positionKey(position)).toString('base64url')
}

function positionOf(cursor: string, newestMs: number): EventPosition {
  const text = Buffer.from(cursor, 'base64url').toString('latin1')
  const match = /^(-?\d{1,16}) ([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/.exec(text)
  if (match === null)
    throw new AppError('INVALID_QUERY', 'cursor: not one of ours', {
      faults: [{ path: 'cursor', message: 'not one of ours' }],
    })
  const eventTimeMs = Math.max(0, Math.min(Number(match[1]), newestMs))
  return { eventTimeMs, eventId: match[2]! }
}
