import pLimit from 'p-limit'
import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import { DAY_MS, dayOf, monthOf, monthStartMs } from '../event/day.ts'
import { groupBy } from '../group-by.ts'
import type { EventPosition } from '../store/event-row.ts'
import type { Events } from '../store/events.ts'
import type { Project } from '../store/projects.ts'
import type { UserTimeline } from '../store/user-timeline.ts'
import type { Admission } from './admission.ts'

export const USER_EVENTS_MAX = 1_000
/** Months read at once, one wave after the other, the last one again and again: most users need one. */
const WAVES = [1, 3, 12] as const
/** After every id that an event can have: Cassandra orders UUIDs by version first. */
const EVENT_ID_LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

export type UserEvents = ReturnType<typeof openUserEvents>

/** A user's newest events: found in the timeline, months newest first, and read day by day. */
export function openUserEvents(dependencies: {
  readonly userTimeline: UserTimeline
  readonly events: Events
  readonly readsInFlightMax: number
  readonly admit: Admission
  readonly clock: Clock
}) {
  const { userTimeline, events, readsInFlightMax, admit, clock } = dependencies
  const limit = pLimit(readsInFlightMax)

  /** Finds up to `count` events of one month, each of a day once; `seen` tells of newer copies. */
  async function findInMonth(read: MonthRead, count: number, seen: Set<string>) {
    const found: EventPosition[] = []
    let { before } = read
    while (found.length < count) {
      const rowsMax = count - found.length
      const positions = await limit(() => userTimeline.newest({ ...read, before, rowsMax }))
      for (const position of positions) {
        const key = copyKey(position)
        if (!seen.has(key)) found.push(position)
        seen.add(key)
      }
      if (positions.length < rowsMax) break
      before = positions.at(-1)!
    }
    return found
  }

  /** Reads found events, in their order. One that is told but not there yet was not acknowledged. */
  async function readFound(projectId: string, userId: string, found: readonly EventPosition[]) {
    const byDay = groupBy(found, ({ eventTimeMs }) => dayOf(eventTimeMs))
    const reads = [...byDay].map(([day, positions]) =>
      limit(() => events.find({ projectId, userId, day, positions })),
    )
    const read = (await Promise.all(reads)).flat()
    const byPosition = new Map(read.map((event) => [positionKey(event), event]))
    return found.flatMap((position) => byPosition.get(positionKey(position)) ?? [])
  }

  /** Finds one event more than the page takes, where there is one. */
  async function find(project: Project, userId: string, page: UserEventsPage) {
    const { projectId, retentionDays } = project
    const nowMs = clock.nowMs()
    const startMs = nowMs - retentionDays * DAY_MS
    const count = page.limit + 1
    const seen = new Set<string>()
    const newestMs = nowMs + 2 * DAY_MS
    let before: EventPosition = { eventTimeMs: newestMs, eventId: EVENT_ID_LAST }
    if (page.cursor !== undefined) {
      before = positionOf(page.cursor, newestMs)
      const later = await userTimeline.laterIdsOfDay({ projectId, userId, from: before })
      for (const eventId of later) seen.add(copyKey({ eventId, eventTimeMs: before.eventTimeMs }))
    }
    const found: EventPosition[] = []
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
            const read = { projectId, userId, month: one, startMs, before: start }
            return findInMonth(read, count - found.length, seen)
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
      return await admit(async () => {
        const found = await find(project, userId, page)
        const shown = found.slice(0, page.limit)
        const hasMore = found.length > page.limit
        return {
          events: await readFound(project.projectId, userId, shown),
          cursor: hasMore ? cursorOf(shown.at(-1)!) : undefined,
        }
      })
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
  readonly before: EventPosition
}

// Copies of an event have its id, and lie on its day.
function copyKey({ eventTimeMs, eventId }: EventPosition): string {
  return `${dayOf(eventTimeMs)} ${eventId}`
}

function positionKey({ eventTimeMs, eventId }: EventPosition): string {
  return `${eventTimeMs} ${eventId}`
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
