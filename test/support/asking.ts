import { randomUUID } from 'node:crypto'
import { afterAll, inject } from 'vitest'
import { eventNamesOf, type FunnelSpec } from '../../src/analysis/funnel-spec.ts'
import { declareFunnel } from '../../src/analysis/funnel.ts'
import { bucketOf } from '../../src/event/bucket.ts'
import { dayOf } from '../../src/event/day.ts'
import type { Event } from '../../src/event/event.ts'
import { openFoldPool, type FoldPool } from '../../src/query/fold-pool.ts'
import { neededProperties } from '../../src/query/funnel-read.ts'
import { openRawEvents } from '../../src/query/raw-events.ts'
import type { SegmentRead } from '../../src/query/segment-plan.ts'
import { openSegments } from '../../src/query/segments.ts'
import { encodeRoot } from '../../src/segment/root.ts'
import type { Stores } from '../../src/store/stores.ts'
import { foldFunnel } from './fold-funnel.ts'
import { silentLog, type TestKeyspace } from './keyspace.ts'
import { writeRows } from './rows.ts'

/** Two threads that fold, until the tests of the file are over. Call it at the top of a test file. */
export async function openTestPool({
  keyspace,
  onWarning,
}: Pick<TestKeyspace, 'keyspace' | 'onWarning'>): Promise<FoldPool> {
  const { contactPoints, localDataCenter, service: credentials } = inject('database')
  const database = { contactPoints, localDataCenter, credentials, keyspace }
  const start = { database, logLevel: 'silent' }
  const pool = openFoldPool({ threadCount: 2, start, onWarning, log: silentLog })
  afterAll(() => pool.close(AbortSignal.timeout(20_000)))
  await pool.hasBegun
  return pool
}

export type Asking = ReturnType<typeof openAsking>

/** Asks funnels of a project, below the routes: what is read can be other than the funnel alone would have it. */
export function openAsking(stores: Stores, pool: FoldPool, projectId: string) {
  const rawEvents = openRawEvents({ ...stores, readsInFlightMax: 8, partitionsMax: 100_000 })

  function readOf(spec: FunnelSpec, part: Partial<SegmentRead>): SegmentRead {
    return {
      ...{
        projectId,
        range: { startMs: spec.entryStartMs, endMs: spec.entryEndMs + spec.windowMs },
        eventNames: eventNamesOf(spec),
      },
      ...{ history: null, sample: 1, nowMs: Date.now() },
      ...neededProperties(spec, part.countBy ?? null),
      signal: new AbortController().signal,
      ...part,
    }
  }

  function segmentsOf(memoryBytesMax: number) {
    const limits = { cacheBytesMax: 0, memoryBytesMax, eventsMax: 1_000_000 }
    return openSegments({ snapshots: stores.snapshots, pool, ...limits })
  }

  return {
    ...{ readOf, rawEvents, segmentsOf },

    /** From what is published. */
    async segments(spec: FunnelSpec, part: Partial<SegmentRead> = {}, memoryBytesMax = 67_108_864) {
      const segments = segmentsOf(memoryBytesMax)
      const { root } = await stores.snapshots.root(projectId)
      const funnel = declareFunnel(spec)
      const read = readOf(spec, part)
      const plan = await segments.plan(root!, read)
      const question = { analysis: 'funnel', spec } as const
      const { counts, amounts } = await segments.fold(read, plan, { funnel, question })
      return { result: funnel.result(counts), plan, amounts }
    },

    /** From the raw rows. */
    async rows(spec: FunnelSpec, part: Partial<SegmentRead> = {}) {
      const funnel = declareFunnel(spec)
      const read = readOf(spec, part)
      const plan = await rawEvents.plan(read)
      let counts = funnel.empty()
      const scan = read.countBy === null ? rawEvents.forEachBucket : rawEvents.forAllBuckets
      const amounts = await scan(read, plan, ({ days, userCount }) => {
        const group = funnel.openGroup(userCount)
        for (const day of days) group.fold(day)
        counts = funnel.merge(counts, group.close())
      })
      return { result: funnel.result(counts), plan, amounts }
    },
  }
}

/** An event as tests fold it by itself. */
export const asTestEvent = ({ userId, eventName, eventTimeMs, properties }: Event) => ({
  ...{ user: userId, event: eventName, timeMs: eventTimeMs },
  properties: JSON.parse(properties) as Record<string, string>,
})

/** What a funnel is to answer of some events. */
export function answerOf(spec: FunnelSpec, events: Parameters<typeof foldFunnel>[1]) {
  return declareFunnel(spec).result(foldFunnel(spec, events))
}

/** Writes events as raw rows, to be found by the buckets and days that have any. */
export async function writeRaw(
  { session, stores }: Pick<TestKeyspace, 'session' | 'stores'>,
  projectId: string,
  events: readonly Event[],
): Promise<void> {
  await writeRows(session, stores.events, { projectId }, events)
  const bucketDays = events.map(({ userId, eventTimeMs }) => ({
    ...{ bucket: bucketOf(userId), day: dayOf(eventTimeMs) },
  }))
  await stores.eventBuckets.add(projectId, bucketDays)
}

/** Publishes that a project has so many read groups from now on. */
export async function setReadGroups(
  { snapshots, roots }: Stores,
  projectId: string,
  readGroupCount: number,
): Promise<void> {
  const { version, root } = await snapshots.root(projectId)
  const grown = encodeRoot({ ...root!, publication: randomUUID(), readGroupCount })
  if (!(await roots.publish(projectId, version, grown))) throw new Error('published meanwhile')
}
