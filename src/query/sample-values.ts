import type { LimitFunction } from 'p-limit'
import { textOf } from '../analysis/condition.ts'
import { DAY_MS, dayOf } from '../event/day.ts'
import { forEachProperty } from '../event/property.ts'
import type { EventBuckets } from '../store/event-buckets.ts'
import { EVENT_ID_FIRST, type StoredEvent } from '../store/event-row.ts'
import type { Events } from '../store/events.ts'
import type { Snapshots } from '../store/snapshots.ts'
import { newestBucketDays } from './bucket-days.ts'

const PARTITIONS_MAX = 32
const ROWS_PER_PARTITION_MAX = 120
const SAMPLE_DAYS = 30
/** A property with more values in the sample is not told by examples. */
const VALUES_MAX = 50
const VALUE_LENGTH_MAX = 256

export type Value = string | number | boolean

interface SampleRead {
  readonly projectId: string
  /** Null: any. */
  readonly eventName: string | null
  readonly nowMs: number
  readonly retentionDays: number
  readonly limit: LimitFunction
}

/**
 * Returns values that properties have in a sample of the newest events, the most frequent first: the newest 120 of
 * up to 32 buckets of the newest days that hold any. Left out are properties with more than 50 values, and
 * events of erased users. Costs 32 small reads, however much is stored.
 */
export async function sampleValues(
  stores: {
    readonly events: Events
    readonly eventBuckets: EventBuckets
    readonly snapshots: Snapshots
  },
  read: SampleRead,
): Promise<ReadonlyMap<string, readonly Value[]>> {
  const counts = new Map<string, Map<string, { readonly value: Value; count: number }>>()
  for (const { eventName, properties } of await sample(stores, read)) {
    if (read.eventName !== null && eventName !== read.eventName) continue
    forEachProperty(JSON.parse(properties) as Record<string, unknown>, (property, value) => {
      let ofProperty = counts.get(property)
      if (ofProperty === undefined) counts.set(property, (ofProperty = new Map()))
      const text = textOf(value)
      const known = ofProperty.get(text)
      if (known !== undefined) known.count++
      // One more than there may be tells that there are too many.
      else if (ofProperty.size <= VALUES_MAX) ofProperty.set(text, { value, count: 1 })
    })
  }
  const told = [...counts].filter(([, values]) => values.size <= VALUES_MAX)
  return new Map(told.map(([property, values]) => [property, shown([...values.values()])]))
}

function shown(values: readonly { readonly value: Value; readonly count: number }[]): Value[] {
  return values
    .filter(({ value }) => textOf(value).length <= VALUE_LENGTH_MAX)
    .sort((a, b) => b.count - a.count)
    .map(({ value }) => value)
}

async function sample(
  { events, eventBuckets, snapshots }: Parameters<typeof sampleValues>[0],
  { projectId, nowMs, retentionDays, limit }: SampleRead,
): Promise<StoredEvent[]> {
  const startMs = nowMs - Math.min(SAMPLE_DAYS, retentionDays) * DAY_MS
  const days = { projectId, firstDay: dayOf(startMs), lastDay: dayOf(nowMs) }
  const { value: newest } = await newestBucketDays(eventBuckets, days).next()
  if (newest === undefined) return []
  const { root } = await snapshots.root(projectId)
  const erased = await snapshots.erased(projectId, root)
  const before = { eventTimeMs: nowMs, eventId: EVENT_ID_FIRST }
  const step = Math.max(1, newest.length / PARTITIONS_MAX)
  const taken = Array.from(
    { length: Math.min(PARTITIONS_MAX, newest.length) },
    (_, index) => newest[Math.floor(index * step)]!,
  )
  const first = { rowsMax: ROWS_PER_PARTITION_MAX, page: null }
  const reads = taken.map((one) =>
    limit(() => events.newest({ projectId, startMs, before, ...one }, first)),
  )
  return (await Promise.all(reads))
    .flatMap((read) => read.events)
    .filter(({ userId, receivedAtMs }) => receivedAtMs > erased.erasedAtMs(userId))
}
