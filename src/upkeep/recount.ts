import pLimit from 'p-limit'
import { DAY_MS, dayOf, monthOfDay, monthStartMs } from '../event/day.ts'
import type { Range } from '../query/range.ts'
import { heldRange } from '../query/raw-events.ts'
import { sectionsOf } from '../query/segment-plan.ts'
import type { ErasedSet } from '../segment/erased-set.ts'
import type { BucketDay } from '../store/event-buckets.ts'
import type { Project } from '../store/projects.ts'
import type { Stores } from '../store/stores.ts'

/** Each takes the memory of its event ids. */
const PARTITIONS_IN_FLIGHT_MAX = 16

/** How often an event happened on a UTC day: by rows, and by segments. */
export interface Recount {
  readonly day: number
  readonly event: string
  /** Distinct ids of the rows. */
  readonly stored: number
  /** Those of users who are erased: segments have them or not, depending on what was sealed before (ADR 9). */
  readonly erased: number
  /** Those received after the newest that is sealed: they wait for it. */
  readonly fresh: number
  /** What segments count, and by them `GET /v1/counts`. */
  readonly sealed: number
}

type Tally = Map<string, { -readonly [Name in keyof Recount]: Recount[Name] }>

interface Asked {
  readonly project: Project
  /** The UTC days that it touches are counted whole, as far as the retention holds them. */
  readonly range: Range
  /** Null: events of every name. */
  readonly event: string | null
  readonly nowMs: number
}

/**
 * Counts the events of a project from its raw rows, copies of an id on a day once (ADR 2), beside what its
 * segments say. Yields each month's counts, by day and name. Rows are read partition by partition, some at a
 * time; what is held is the counts of a month, and the ids of the partitions that are being read.
 */
export async function* recount(stores: Stores, asked: Asked): AsyncGenerator<Recount[]> {
  const { project, nowMs } = asked
  const { startMs, endMs } = heldRange(asked.range, project.retentionDays, nowMs)
  const lastDay = dayOf(endMs - 1)
  for (let day = dayOf(startMs); day <= lastDay;) {
    const monthEnd = dayOf(monthStartMs(monthOfDay(day) + 1)) - 1
    const through = Math.min(lastDay, monthEnd)
    yield await recountDays(stores, asked, { firstDay: day, lastDay: through })
    day = through + 1
  }
}

/** Whether rows and segments tell the same, but for erased users. */
export function agrees({ stored, erased, sealed }: Recount): boolean {
  return stored - erased <= sealed && sealed <= stored
}

async function recountDays(
  stores: Stores,
  { project: { projectId }, event, nowMs }: Asked,
  { firstDay, lastDay }: { readonly firstDay: number; readonly lastDay: number },
): Promise<Recount[]> {
  // Before the rows: what is stored or sealed meanwhile is fresh.
  const { root } = await stores.snapshots.root(projectId)
  const erased = await stores.snapshots.erased(projectId, root)
  const tally: Tally = new Map()
  if (root !== null) {
    const range = { startMs: firstDay * DAY_MS, endMs: (lastDay + 1) * DAY_MS }
    const eventNames = event === null ? null : [event]
    const found = await sectionsOf(stores.snapshots, root, {
      ...{ projectId, range, eventNames, history: null, nowMs },
    })
    for (const { section } of found)
      countOf(tally, section.day, section.eventName).sealed += section.rowCount
  }
  const limit = pLimit(PARTITIONS_IN_FLIGHT_MAX)
  const partition = { projectId, event, erased, sealedMs: root?.newestReceivedAtMs ?? 0 }
  for await (const { bucketDays } of stores.eventBuckets.list(projectId, firstDay, lastDay))
    await limit.map(bucketDays, (bucketDay) =>
      countRows(stores, { ...partition, ...bucketDay }, tally),
    )
  return [...tally.values()].sort((a, b) => a.day - b.day || (a.event < b.event ? -1 : 1))
}

async function countRows(
  { events }: Stores,
  partition: BucketDay & {
    readonly projectId: string
    readonly event: string | null
    readonly erased: ErasedSet
    readonly sealedMs: number
  },
  tally: Tally,
): Promise<void> {
  const { projectId, bucket, day, event, erased, sealedMs } = partition
  const seen = new Set<string>()
  const scan = { projectId, bucket, day, withProperties: false, withReceivedAt: true }
  for await (const page of events.scan(scan))
    for (const { eventName, eventId, userId, receivedAtMs } of page) {
      if (event !== null && eventName !== event) continue
      if (seen.has(eventId)) continue
      seen.add(eventId)
      const count = countOf(tally, day, eventName)
      count.stored++
      if (receivedAtMs <= erased.erasedAtMs(userId)) count.erased++
      if (receivedAtMs > sealedMs) count.fresh++
    }
}

function countOf(tally: Tally, day: number, event: string) {
  const key = `${day} ${event}`
  const known = tally.get(key)
  if (known !== undefined) return known
  const none = { day, event, stored: 0, erased: 0, fresh: 0, sealed: 0 }
  tally.set(key, none)
  return none
}
