import pLimit from 'p-limit'
import { setImmediate as rest } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import { dayOf } from '../event/day.ts'
import { groupBy } from '../group-by.ts'
import type { Metrics } from '../metrics.ts'
import type { ErasedSet } from '../segment/erased-set.ts'
import type { EventBuckets } from '../store/event-buckets.ts'
import type { StoredEvent } from '../store/event-row.ts'
import type { Events } from '../store/events.ts'
import type { Project } from '../store/projects.ts'
import type { Snapshots } from '../store/snapshots.ts'
import type { UserTimeline } from '../store/user-timeline.ts'
import type { SearchQuery } from '../wire/search-query.ts'
import type { Admission } from './admission.ts'
import { throwIfCancelled } from './cancel.ts'
import { eventFilterOf, type EventFilter } from './event-filter.ts'
import { eventsAt } from './events-at.ts'
import { newestOf, type Place, type Stream } from './newest-first.ts'
import { resolveRange } from './range.ts'
import { heldRange } from './raw-events.ts'
import {
  placeBefore,
  slicesOfDays,
  slicesOfUser,
  type Reader,
  type SearchRead,
} from './search-streams.ts'

/** After so many rows or reads a page ends, with what was found by then. */
const PAGE_ROWS_READ_MAX = 30_000
const PAGE_READS_MAX = 5_000
/** Of the events of a page: their texts. */
const PAGE_CHARACTERS_MAX = 8_388_608
/** Conditions are tested where events are taken in: never for longer without a rest. */
const WORK_MS_MAX = 10

/** An event and its place. */
interface FoundEvent extends StoredEvent {
  readonly bucket: number
}

/** One page's question, and what it has read so far. */
interface PageSearch {
  readonly projectId: string
  readonly erased: ErasedSet
  readonly isAsked: EventFilter
  readonly signal: AbortSignal
  rows: number
  reads: number
}

export type Search = ReturnType<typeof openSearch>

/**
 * Finds stored events, newest first, page by page: from the raw rows day by day, all buckets of a day at once;
 * of one user by its timeline. An event that has copies under several times of a day is the newest of them,
 * whatever the range and the page: the timeline tells whether there is a newer one.
 */
export function openSearch(dependencies: {
  readonly stores: {
    readonly events: Events
    readonly eventBuckets: EventBuckets
    readonly userTimeline: UserTimeline
    readonly snapshots: Snapshots
  }
  readonly limits: { readonly readsInFlightMax: number; readonly queryTimeoutMs: number }
  readonly admit: Admission
  readonly clock: Clock
  readonly metrics: Metrics
}) {
  const { stores, limits, admit, clock, metrics } = dependencies
  const { snapshots, userTimeline } = stores
  const limit = pLimit(limits.readsInFlightMax)
  const tables = { ...stores, limit }

  function streamOf({ bucket, read }: Reader, search: PageSearch): Stream<FoundEvent> {
    return {
      async read(rowsMax) {
        throwIfCancelled(search.signal)
        const { events, last } = await read(rowsMax)
        search.reads++
        search.rows += events.length
        const matches = await matchesOf(events, search)
        return {
          matches: matches.map((event) => ({ ...event, bucket })),
          reached: last === null ? null : { ...last, bucket },
        }
      },
    }
  }

  async function matchesOf(events: readonly StoredEvent[], search: PageSearch) {
    const { erased, isAsked, signal } = search
    const matches: StoredEvent[] = []
    let beganMs = clock.monotonicMs()
    for (const event of events) {
      const isErased = event.receivedAtMs <= erased.erasedAtMs(event.userId)
      if (!isErased && isAsked(event)) matches.push(event)
      if (clock.monotonicMs() - beganMs < WORK_MS_MAX) continue
      await rest()
      throwIfCancelled(signal)
      beganMs = clock.monotonicMs()
    }
    return matches
  }

  /** Leaves out events of which a newer copy of the same day is stored. */
  async function withoutOlderCopies({ projectId, erased }: PageSearch, found: FoundEvent[]) {
    const byUserDay = groupBy(found, ({ userId, eventTimeMs }) => `${dayOf(eventTimeMs)} ${userId}`)
    const older = new Set<FoundEvent>()
    await Promise.all(
      [...byUserDay.values()].map(async (ofUserDay) => {
        const from = ofUserDay.at(-1)!
        const { userId } = from
        const later = await limit(() => userTimeline.laterOfDay({ projectId, userId, from }))
        const erasedAtMs = erased.erasedAtMs(userId)
        const told =
          erasedAtMs === -Infinity
            ? later
            : (await eventsAt(tables, { projectId, userId }, later)).filter(
                ({ receivedAtMs }) => receivedAtMs > erasedAtMs,
              )
        const newestMs = new Map<string, number>()
        for (const { eventId, eventTimeMs } of told)
          newestMs.set(eventId, Math.max(eventTimeMs, newestMs.get(eventId) ?? -Infinity))
        for (const event of ofUserDay)
          if ((newestMs.get(event.eventId) ?? -Infinity) > event.eventTimeMs) older.add(event)
      }),
    )
    return found.filter((event) => !older.has(event))
  }

  /** Finds one event more than a page takes, where there is one; else how far it looked, null for to the end. */
  async function find(query: SearchQuery, read: SearchRead, search: PageSearch) {
    const { userId } = query
    const slices =
      userId === undefined ? slicesOfDays(tables, read) : slicesOfUser(tables, read, userId)
    const isSpent = () => search.rows >= PAGE_ROWS_READ_MAX || search.reads >= PAGE_READS_MAX
    let found: FoundEvent[] = []
    for await (const { readers, end } of slices) {
      throwIfCancelled(search.signal)
      const wanted = query.limit + 1 - found.length
      const charactersMax = PAGE_CHARACTERS_MAX - charactersOf(found)
      const cut = (events: readonly FoundEvent[]) => cutTo(events, wanted, charactersMax)
      const streams = readers.map((reader) => streamOf(reader, search))
      const next = await newestOf(streams, { wanted, cut, isSpent })
      found = found.concat(next.found)
      const isFull = cutTo(found, query.limit + 1, PAGE_CHARACTERS_MAX).isFull
      if (isFull) return { found: found.slice(0, -1), goOnAfter: found.at(-2)! }
      if (next.givenUpAt !== null) return { found, goOnAfter: next.givenUpAt }
      if (isSpent()) return { found, goOnAfter: end }
    }
    return { found, goOnAfter: null }
  }

  async function page(project: Project, query: SearchQuery, signal: AbortSignal) {
    const { projectId, retentionDays } = project
    const nowMs = clock.nowMs()
    const timeZone = query.timeZone ?? project.timeZone
    const asked = resolveRange(query, { timeZone, nowMs })
    const { startMs, endMs } = heldRange(asked, retentionDays, nowMs)
    const isAsked = eventFilterOf(query)
    const start = placeBefore(endMs)
    const cursor = query.cursor === undefined ? start : placeOf(query.cursor)
    const before = cursor.eventTimeMs < endMs ? cursor : start
    if (before.eventTimeMs < startMs) return { events: [] }
    const { root } = await snapshots.root(projectId)
    const erased = await snapshots.erased(projectId, root)
    const search = { projectId, erased, isAsked, signal, rows: 0, reads: 0 }
    const { found, goOnAfter } = await find(query, { projectId, startMs, before }, search)
    metrics.queryEvents.inc(search.rows)
    const events = await withoutOlderCopies(search, found)
    return goOnAfter === null ? { events } : { events, cursor: cursorOf(goOnAfter) }
  }

  return {
    /**
     * Returns up to `limit` events, newest first, and a cursor while there may be older ones. A page is short, or
     * empty, where finding more would take too long. Throws INVALID_QUERY; QUERY_TIMEOUT; CANCELLED when
     * `gone` is aborted.
     */
    ask: (project: Project, query: SearchQuery, gone: AbortSignal): Promise<SearchPage> =>
      admit(() => {
        const timeout = AbortSignal.timeout(limits.queryTimeoutMs)
        return page(project, query, AbortSignal.any([gone, timeout]))
      }),
  }
}

export interface SearchPage {
  readonly events: readonly StoredEvent[]
  /** Absent at the end. */
  readonly cursor?: string
}

/** Keeps so many events, or until their texts are as long as that. */
function cutTo(events: readonly FoundEvent[], count: number, charactersMax: number) {
  let characters = 0
  for (const [index, { properties }] of events.entries()) {
    characters += properties.length
    if (index + 1 === count || characters >= charactersMax)
      return { kept: events.slice(0, index + 1), isFull: true }
  }
  return { kept: events, isFull: false }
}

function charactersOf(events: readonly FoundEvent[]): number {
  return events.reduce((sum, { properties }) => sum + properties.length, 0)
}

function cursorOf({ eventTimeMs, bucket, eventId }: Place): string {
  return Buffer.from(`s ${eventTimeMs} ${bucket} ${eventId}`).toString('base64url')
}

const CURSOR = /^s (-?\d{1,15}) (-1|\d{1,3}) ([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/

function placeOf(cursor: string): Place {
  const match = CURSOR.exec(Buffer.from(cursor, 'base64url').toString('latin1'))
  if (match === null)
    throw new AppError('INVALID_QUERY', 'cursor: not one of ours', {
      faults: [{ path: 'cursor', message: 'not one of ours' }],
    })
  return { eventTimeMs: Number(match[1]), bucket: Number(match[2]), eventId: match[3]! }
}
