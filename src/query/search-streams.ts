import type { LimitFunction } from 'p-limit'
import { bucketOf } from '../event/bucket.ts'
import { DAY_MS, dayOf, monthOf, monthStartMs } from '../event/day.ts'
import type { EventBuckets } from '../store/event-buckets.ts'
import {
  EVENT_ID_FIRST,
  EVENT_ID_LAST,
  type EventPosition,
  type StoredEvent,
} from '../store/event-row.ts'
import type { Events } from '../store/events.ts'
import type { UserTimeline } from '../store/user-timeline.ts'
import { newestBucketDays } from './bucket-days.ts'
import { eventsAt } from './events-at.ts'
import type { Place } from './newest-first.ts'

const MONTHS_AT_ONCE = 3
/** After every bucket: of one moment, higher ones stand before lower ones. */
const BUCKET_LAST = -1

/** What a search reads, newest first: what is older than `before`, back to `startMs`. */
export interface SearchRead {
  readonly projectId: string
  readonly startMs: number
  readonly before: Place
}

/** A part of a range, newest parts first: its partitions, and the place that all of it is newer than. */
export interface Slice {
  readonly readers: readonly Reader[]
  readonly end: Place
}

export interface Reader {
  readonly bucket: number
  /** Reads about so many rows on, newest first. None only at the end. */
  readonly read: (rowsMax: number) => Promise<ReadRows>
}

interface ReadRows {
  readonly events: readonly StoredEvent[]
  /** The last row; null at the end. */
  readonly last: EventPosition | null
}

interface Tables {
  readonly events: Events
  readonly eventBuckets: EventBuckets
  readonly userTimeline: UserTimeline
  readonly limit: LimitFunction
}

/** Yields the slices of everybody's events: days, or several days of few partitions, one reader a bucket and day. */
export async function* slicesOfDays(tables: Tables, read: SearchRead): AsyncGenerator<Slice> {
  const days = { firstDay: dayOf(read.startMs), lastDay: dayOf(read.before.eventTimeMs) }
  const slices = newestBucketDays(tables.eventBuckets, { projectId: read.projectId, ...days })
  for await (const bucketDays of slices)
    yield {
      readers: bucketDays.map((one) => dayReader(tables, { ...read, ...one })),
      end: placeBefore(bucketDays.at(-1)!.day * DAY_MS),
    }
}

/** Yields the slices of one user's events: months of the timeline, three at a time. */
export async function* slicesOfUser(
  tables: Tables,
  read: SearchRead,
  userId: string,
): AsyncGenerator<Slice> {
  const firstMonth = monthOf(read.startMs)
  for (let last = monthOf(read.before.eventTimeMs); last >= firstMonth; last -= MONTHS_AT_ONCE) {
    const count = Math.min(MONTHS_AT_ONCE, last - firstMonth + 1)
    const months = Array.from({ length: count }, (_, index) => last - index)
    yield {
      readers: months.map((month) => monthReader(tables, { ...read, userId, month })),
      end: placeBefore(monthStartMs(months.at(-1)!)),
    }
  }
}

/** The place that just what is before a moment is older than. */
export function placeBefore(timeMs: number): Place {
  return { eventTimeMs: timeMs, bucket: BUCKET_LAST, eventId: EVENT_ID_FIRST }
}

function dayReader(
  { events, limit }: Tables,
  read: SearchRead & { readonly bucket: number; readonly day: number },
): Reader {
  const { bucket } = read
  const before = boundOf(read.before, bucket)
  let page: string | null = null
  return {
    bucket,
    async read(rowsMax) {
      // A page may be empty and not be the last.
      for (;;) {
        const next = await limit(() => events.newest({ ...read, before }, { rowsMax, page }))
        page = next.nextPage
        if (page === null) return { events: next.events, last: null }
        if (next.events.length > 0) return { events: next.events, last: next.events.at(-1)! }
      }
    },
  }
}

function monthReader(
  { userTimeline, ...tables }: Tables,
  read: SearchRead & { readonly userId: string; readonly month: number },
): Reader {
  const bucket = bucketOf(read.userId)
  let before = boundOf(read.before, bucket)
  return {
    bucket,
    async read(rowsMax) {
      const positions = await tables.limit(() => userTimeline.newest({ ...read, before, rowsMax }))
      const found = await eventsAt(tables, read, positions)
      if (positions.length < rowsMax) return { events: found, last: null }
      before = positions.at(-1)!
      return { events: found, last: before }
    },
  }
}

function boundOf({ eventTimeMs, bucket, eventId }: Place, ofBucket: number): EventPosition {
  if (ofBucket === bucket) return { eventTimeMs, eventId }
  return { eventTimeMs, eventId: ofBucket < bucket ? EVENT_ID_LAST : EVENT_ID_FIRST }
}
