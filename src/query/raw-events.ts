import pLimit from 'p-limit'
import { AppError } from '../error.ts'
import { sampledBuckets } from '../event/bucket.ts'
import { DAY_MS, dayOf } from '../event/day.ts'
import { SESSION_ID_PATH } from '../segment/columns.ts'
import type { ErasedSet } from '../segment/erased-set.ts'
import type { BucketDay, EventBuckets } from '../store/event-buckets.ts'
import type { Events, ScannedEvent } from '../store/events.ts'
import type { Snapshots } from '../store/snapshots.ts'
import { throwIfCancelled } from './cancel.ts'
import { openColumnBuilder, type GroupRuns } from './column-builder.ts'
import { firstReadMs, openReadStarts, type EventsRead } from './history.ts'
import type { Range } from './range.ts'

const BUCKETS_IN_FLIGHT_MAX = 8
const DAYS_IN_FLIGHT_MAX = 32
/** Events that are held at once where values are counted: they may be of any bucket. About 40 bytes each. */
const VALUE_EVENTS_MAX = 5_000_000

/** What a question needs of the raw rows. */
export interface RawRead extends EventsRead {
  readonly projectId: string
  /** SESSION_ID_PATH may be among them. */
  readonly properties: readonly string[]
  /** The property whose values are counted, one of the properties; null: users are. */
  readonly countBy: string | null
  /** Above 0; 1: everybody. Of users by their buckets, or of the values that are counted (event/bucket.ts). */
  readonly sample: number
  readonly signal: AbortSignal
}

/** The bucket-days that hold anything within a range, by bucket. */
export interface RawPlan {
  readonly daysOfBucket: ReadonlyMap<number, readonly number[]>
  readonly erased: ErasedSet
}

interface RawBucket {
  readonly bucket: number
  readonly days: readonly number[]
  readonly erased: ErasedSet
}

export interface ReadAmounts {
  partitions: number
  bytes: number
  events: number
}

export type RawEvents = ReturnType<typeof openRawEvents>

/**
 * Reads events from the raw rows, bucket by bucket: partition-bounded, in parallel, page by page. Takes
 * no more memory than a few buckets, and asks nothing of buckets and days that hold nothing.
 */
export function openRawEvents(dependencies: {
  readonly events: Events
  readonly eventBuckets: EventBuckets
  readonly snapshots: Snapshots
  readonly readsInFlightMax: number
  readonly partitionsMax: number
  readonly valueEventsMax?: number
}) {
  const { events, eventBuckets, snapshots, readsInFlightMax, partitionsMax } = dependencies
  const { valueEventsMax = VALUE_EVENTS_MAX } = dependencies
  const limit = pLimit(readsInFlightMax)

  async function readDay(
    read: RawRead,
    { bucket, day, erased }: BucketDay & { readonly erased: ErasedSet },
    amounts: ReadAmounts,
  ) {
    const { projectId, signal } = read
    const withReceivedAt = erased.hasBucket(bucket)
    const withProperties = read.properties.some((path) => path !== SESSION_ID_PATH)
    const withSessionId = read.properties.includes(SESSION_ID_PATH)
    const startOf = openReadStarts(read)
    const seen = new Set<string>()
    const kept: ScannedEvent[] = []
    amounts.partitions++
    const scan = { projectId, bucket, day, withProperties, withSessionId, withReceivedAt }
    for await (const page of events.scan(scan)) {
      throwIfCancelled(signal)
      amounts.events += page.length
      for (const event of page) {
        amounts.bytes += rowBytes(event)
        const startMs = startOf(event.eventName)
        if (startMs === Infinity) continue
        // Before copies are told: one that was sent after the erasure counts.
        if (withReceivedAt && event.receivedAtMs <= erased.erasedAtMs(event.userId)) continue
        // The same id on the same day is one event, whatever times its copies have: the first one stays.
        if (seen.has(event.eventId)) continue
        seen.add(event.eventId)
        if (event.eventTimeMs >= startMs && event.eventTimeMs < read.range.endMs) kept.push(event)
      }
    }
    return kept
  }

  async function readBucket(
    read: RawRead,
    { bucket, days, erased }: RawBucket,
    amounts: ReadAmounts,
  ) {
    const builder = openColumnBuilder(read.properties, null)
    for (const some of chunks(days, DAYS_IN_FLIGHT_MAX)) {
      throwIfCancelled(read.signal)
      const ofDays = await Promise.all(
        some.map((day) => limit(() => readDay(read, { bucket, day, erased }, amounts))),
      )
      for (const event of ofDays.flat()) builder.add(event)
    }
    return builder.build()
  }

  return {
    /** Finds what there is to read. Throws QUERY_TOO_LARGE, with the estimate, when it is too much. */
    async plan(read: RawRead): Promise<RawPlan> {
      const { projectId, range, signal } = read
      const isRead = sampledTest(read)
      const daysOfBucket = new Map<number, number[]>()
      const { root } = await snapshots.root(projectId)
      const erased = await snapshots.erased(projectId, root)
      if (range.startMs >= range.endMs) return { daysOfBucket, erased }
      const firstDay = dayOf(firstReadMs(read))
      const lastDay = dayOf(range.endMs - 1)
      let partitionCount = 0
      for await (const { bucketDays, throughDay } of eventBuckets.list(
        projectId,
        firstDay,
        lastDay,
      )) {
        throwIfCancelled(signal)
        const sampled = bucketDays.filter(({ bucket }) => isRead(bucket))
        partitionCount += sampled.length
        if (partitionCount > partitionsMax) {
          const share = (throughDay + 1 - firstDay) / (lastDay + 1 - firstDay)
          throw tooLarge(Math.round(partitionCount / share), partitionsMax)
        }
        for (const { bucket, day } of sampled) {
          const days = daysOfBucket.get(bucket)
          if (days === undefined) daysOfBucket.set(bucket, [day])
          else days.push(day)
        }
      }
      return { daysOfBucket, erased }
    },

    /**
     * Yields buckets from `firstBucket` on, in ascending order, with their events of the range. Reads one of
     * them, then two, four … ahead.
     */
    async *bucketsFrom(
      read: RawRead,
      plan: RawPlan,
      firstBucket: number,
      amounts: ReadAmounts,
    ): AsyncGenerator<{ readonly bucket: number; readonly group: GroupRuns }> {
      const left = [...plan.daysOfBucket]
        .filter(([bucket]) => bucket >= firstBucket)
        .sort(([a], [b]) => a - b)
        .map(([bucket, days]) => ({ bucket, days, erased: plan.erased }))
      for (let width = 1; left.length > 0; width = Math.min(2 * width, BUCKETS_IN_FLIGHT_MAX)) {
        const wave = left.splice(0, width)
        const groups = await Promise.all(wave.map((bucket) => readBucket(read, bucket, amounts)))
        for (const [index, group] of groups.entries()) yield { bucket: wave[index]!.bucket, group }
      }
    },

    /** Calls `fold` once a bucket, with its events of the range, day by day. Returns what was read. */
    async forEachBucket(
      read: RawRead,
      { daysOfBucket, erased }: RawPlan,
      fold: (bucket: GroupRuns) => void,
    ): Promise<ReadAmounts> {
      const amounts = { partitions: 0, bytes: 0, events: 0 }
      const bucketLimit = pLimit(BUCKETS_IN_FLIGHT_MAX)
      const foldBucket = async (bucket: number, days: readonly number[]) => {
        throwIfCancelled(read.signal)
        fold(await readBucket(read, { bucket, days, erased }, amounts))
      }
      const working = [...daysOfBucket].map(([bucket, days]) =>
        bucketLimit(() => foldBucket(bucket, days)),
      )
      try {
        await Promise.all(working)
      } finally {
        bucketLimit.clearQueue()
      }
      return amounts
    },

    /**
     * Calls `fold` once, with the events of all buckets, by the values of `countBy`. Returns what was read. Throws
     * QUERY_TOO_LARGE for more events than are held at once.
     */
    async forAllBuckets(
      read: RawRead,
      plan: RawPlan,
      fold: (all: GroupRuns) => void,
    ): Promise<ReadAmounts> {
      const amounts = { partitions: 0, bytes: 0, events: 0 }
      const builder = openColumnBuilder(read.properties, read.countBy, read.sample)
      let heldCount = 0
      for (const [day, buckets] of bucketsByDay(plan)) {
        const events: ScannedEvent[] = []
        for (const some of chunks(buckets, DAYS_IN_FLIGHT_MAX)) {
          throwIfCancelled(read.signal)
          const reads = some.map((bucket) =>
            limit(() => readDay(read, { bucket, day, erased: plan.erased }, amounts)),
          )
          const found = (await Promise.all(reads)).flat()
          heldCount += found.length
          if (heldCount > valueEventsMax) throw tooManyHeld(valueEventsMax)
          for (const event of found) events.push(event)
        }
        events.sort((a, b) => a.eventTimeMs - b.eventTimeMs)
        for (const event of events) builder.add(event)
      }
      fold(builder.build())
      return amounts
    },
  }
}

/** Tells which buckets are read: all of them for values, which may be anybody's. */
function sampledTest({ countBy, sample }: RawRead): (bucket: number) => boolean {
  if (countBy !== null) return () => true
  const flags = sampledBuckets(sample)
  return (bucket) => flags[bucket] === 1
}

// Looking stops at the limit, so the estimate takes the rest of the days to be like those before.
function tooLarge(estimate: number, partitionsMax: number): AppError {
  return new AppError(
    'QUERY_TOO_LARGE',
    `this would read about ${estimate} partitions, and at most ${partitionsMax} are allowed: ` +
      'ask about fewer days',
  )
}

function tooManyHeld(eventsMax: number): AppError {
  return new AppError(
    'QUERY_TOO_LARGE',
    `counting values by source "events" takes at most ${eventsMax} events: ask about fewer days`,
  )
}

/** The buckets that hold anything on a day, by day in ascending order. */
function bucketsByDay({ daysOfBucket }: RawPlan): [number, number[]][] {
  const bucketsOfDay = new Map<number, number[]>()
  for (const [bucket, days] of daysOfBucket)
    for (const day of days) {
      const buckets = bucketsOfDay.get(day)
      if (buckets === undefined) bucketsOfDay.set(day, [bucket])
      else buckets.push(bucket)
    }
  return [...bucketsOfDay].sort(([a], [b]) => a - b)
}

/** Cuts a question's range to what a project can still hold: its retention, and a day ahead of now. */
export function heldRange(range: Range, retentionDays: number, nowMs: number): Range {
  return {
    startMs: Math.max(range.startMs, nowMs - retentionDays * DAY_MS),
    endMs: Math.min(range.endMs, nowMs + 2 * DAY_MS),
  }
}

// Time and id are 24 bytes; the rest is text.
function rowBytes({ userId, eventName, sessionId, properties }: ScannedEvent): number {
  return 24 + userId.length + eventName.length + (sessionId?.length ?? 0) + properties.length
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  const cut: T[][] = []
  for (let start = 0; start < items.length; start += size)
    cut.push(items.slice(start, start + size))
  return cut
}
