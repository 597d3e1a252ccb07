import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import { DAY_MS } from '../event/day.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { Erasure } from '../segment/erased-set.ts'
import { AS_OF_SKEW_MS, isUnsealed, type Root } from '../segment/root.ts'
import { decodedArrival } from '../store/arrivals.ts'
import type { RowWriter } from '../store/row-writer.ts'
import type { FoundRoot, PublishedRoot } from '../store/snapshots.ts'
import type { Stores } from '../store/stores.ts'
import { decodeBlock, type BlockColumns } from '../segment/block.ts'
import { openGather, type Gathered } from './gather.ts'
import { FRESH_COUNT_MAX, readGroupCountOf } from './merge-plan.ts'
import { openMerge, type Merged } from './merge.ts'
import { openProjectMemory } from './project-memory.ts'
import { openPublish } from './publish.ts'
import { hasRawEvents, rawEventsOf } from './recover.ts'
import { openRootNow } from './root-now.ts'
import { sealRows } from './seal-pass.ts'
import { openSweep } from './sweep.ts'
import { packedSegment, type SealProject } from './write-segment.ts'

/** A root that says it is of so far ahead was published by a wrong clock. */
const WRONG_CLOCK_MS = 60_000
/** Blocks are kept for 14 days; what was not sealed for so long may be gone. */
const ARRIVALS_LIFE_MS = 13 * DAY_MS
/** So often an idle project's root is told to be of now, so that it is not taken for left off. */
const TOLD_MS = DAY_MS

export interface SealDependencies {
  readonly stores: Stores
  readonly rows: RowWriter
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Logger
}

export interface SealOutcome {
  /** All events acknowledged before it are published. */
  readonly asOfMs: number
  /** Whether nothing that could be seen is left. */
  readonly isDrained: boolean
  readonly eventCount: number
  readonly published: PublishedRoot
}

export type ProjectSealer = ReturnType<typeof openProjectSealer>

/** Seals and merges one project. One thing at a time: the caller waits for each before the next. */
export function openProjectSealer(given: SealProject, dependencies: SealDependencies) {
  const { stores, rows, clock, metrics, log } = dependencies
  const { projectId } = given
  let project = given
  const { snapshots, objects, arrivals } = stores
  const { nowMs, monotonicMs } = clock
  const gather = openGather({ ...stores, monotonicMs })
  const publish = openPublish({ ...stores, nowMs })
  const rootOf = openRootNow({ snapshots, nowMs })
  const { mergeOnce } = openMerge({ objects, snapshots, publish, nowMs })
  const sweep = openSweep({ ...stores, nowMs })
  let memory = openProjectMemory(projectId, { objects, snapshots, nowMs })

  const rootNow = () => rootOf(given)

  /** Writes rows that a dead writer may have left out: its blocks have them all. */
  async function finishRows({ unfinished, writers }: Gathered, root: Root): Promise<void> {
    const erased = await snapshots.erased(projectId, root)
    for (const { writer, rowsThrough } of unfinished) {
      const { through } = writers[writer]!
      for (let sequence = rowsThrough + 1; sequence <= through; sequence++) {
        const arrival = await arrivals.read(projectId, writer, sequence)
        if (arrival === null) continue
        const events = decodedArrival({ projectId, writer, sequence }, arrival.block, decodeBlock)
        // What is erased need not be stored again.
        const kept = events.filter(
          ({ userId, receivedAtMs }) => receivedAtMs > erased.erasedAtMs(userId),
        )
        await rows.write(project, kept, AbortSignal.timeout(60_000))
      }
      log.info({ projectId, writer, from: rowsThrough + 1, through }, 'finished a writer’s rows')
    }
  }

  /** Adds events to what is published; null where somebody else published first. */
  async function add(
    from: FoundRoot,
    blocks: readonly BlockColumns[],
    change: Pick<Root, 'writers' | 'asOfMs' | 'isRecovering'>,
  ): Promise<PublishedRoot | null> {
    if (blocks.length > 0) await memory.follow(from.root)
    const erased = await snapshots.erased(projectId, from.root)
    const { sections, users, keys } = await sealRows(blocks, { root: from.root, erased, memory })
    const readGroupCount = readGroupCountOf(from.root, memory.users.size() + users.length)
    const place = { level: 0, readGroupCount, retentionDays: project.retentionDays }
    const segment = sections.length === 0 ? null : packedSegment(sections, place, users)
    const published = await publish({
      ...{ projectId, from },
      root: {
        ...from.root,
        ...change,
        readGroupCount,
        newestReceivedAtMs: newestReceivedAtMs(from.root, blocks),
        fresh: segment === null ? from.root.fresh : [...from.root.fresh, segment.ref],
      },
      added: segment === null ? [] : [segment.ref.segment],
      givenUp: [],
      write: async () => await segment?.write(objects, projectId, nowMs()),
      isUntouchedBy: (erasures) => !haveAnyOf(blocks, erasures),
    })
    if (published !== null && segment !== null)
      memory.adopt({
        segment: segment.ref.segment,
        ...{ users, keys },
        ids: sections.map(({ ids }) => ids),
      })
    return published
  }

  /** Seals from raw rows what no block tells of any more. */
  async function recover(): Promise<void> {
    log.warn({ projectId }, 'commits may have expired unsealed: sealing the raw rows')
    for await (const slice of rawEventsOf(stores, project, nowMs()))
      for (let isIn = false; !isIn;) {
        const from = await rootNow()
        isIn = (await add(from, [slice], { ...from.root, isRecovering: true })) !== null
        await merge(Infinity)
      }
  }

  async function seal(from: FoundRoot): Promise<SealOutcome | null> {
    const startMs = nowMs()
    const gathered = await gather(projectId, from.root)
    const { blocks, isDrained, isChanged, isMissing, writers } = gathered
    const eventCount = blocks.reduce((sum, block) => sum + block.eventCount, 0)
    const seenMs = startMs - AS_OF_SKEW_MS
    const ageMs = seenMs - from.root.asOfMs
    const isLongAgo = from.root.asOfMs > 0 && ageMs > ARRIVALS_LIFE_MS
    // Of before there was sealing, or of so long ago that no writer is known any more.
    const isUnknown =
      isUnsealed(from.root) &&
      (Object.keys(writers).length === 0 || startMs - project.createdAtMs > ARRIVALS_LIFE_MS) &&
      (await hasRawEvents(stores, project, startMs))
    const told = { writers, isRecovering: false }
    const outcome = { isDrained, eventCount }
    await finishRows(gathered, from.root)
    if (isMissing || isLongAgo || isUnknown || from.root.isRecovering) {
      await recover()
      const asOfMs = isDrained ? seenMs : from.root.asOfMs
      // What was gathered is added to the root that there is now: copies are dropped.
      const published = await add(await rootNow(), blocks, { ...told, asOfMs })
      return published && { ...outcome, asOfMs, published }
    }
    const isIdle = !isChanged && (isUnsealed(from.root) || ageMs < TOLD_MS)
    if (isIdle) return { ...outcome, asOfMs: seenMs, published: from }
    const asOfMs = isDrained ? laterOf(from.root.asOfMs, seenMs) : from.root.asOfMs
    const published = await add(from, blocks, { ...told, asOfMs })
    return published && { ...outcome, asOfMs, published }
  }

  /** Does what may meet objects that others have deleted since: then they published, and it is lost. */
  async function unlessOvertaken<T>(from: FoundRoot, work: () => Promise<T>, lost: T): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const isDamaged = error instanceof AppError && error.code === 'DATA_DAMAGED'
      if (isDamaged && (await snapshots.root(projectId)).version !== from.version) return lost
      throw error
    }
  }

  /** How many users there are decides how new segments are split. */
  async function countUsers(root: Root): Promise<number> {
    await memory.follow(root)
    return memory.users.size()
  }

  /** Merges what is worth it, at most `mergesMax` times. */
  async function merge(mergesMax: number): Promise<void> {
    for (let count = 0; count < mergesMax; count++) {
      const from = await rootNow()
      if (from.version === 0) return
      const merged = await unlessOvertaken<Merged>(
        from,
        async () => {
          const endTimer = metrics.sealDuration.startTimer({ part: 'merge' })
          const done = await mergeOnce(project, from, () => countUsers(from.root))
          if (done.outcome !== 'none') endTimer()
          return done
        },
        { outcome: 'lost' },
      )
      if (merged.outcome === 'none') return
      if (merged.outcome === 'merged') merged.userLists.forEach(memory.adoptUserList)
    }
  }

  return {
    /** Takes over a retention that was changed. */
    setRetention: (retentionDays: number) => void (project = { ...project, retentionDays }),

    /**
     * Publishes all that can be seen, or as much of it as fits in a pass. Returns null where somebody else
     * published first: then it is to be tried again.
     */
    async seal(): Promise<SealOutcome | null> {
      if ((await rootNow()).root.fresh.length >= FRESH_COUNT_MAX) await merge(Infinity)
      const from = await rootNow()
      const endTimer = metrics.sealDuration.startTimer({ part: 'pass' })
      try {
        const outcome = await unlessOvertaken(from, () => seal(from), null)
        metrics.sealEvents.inc(outcome?.eventCount ?? 0)
        return outcome
      } catch (error) {
        // What it knew may be of a root that never came to be.
        memory = openProjectMemory(projectId, { objects, snapshots, nowMs })
        throw error
      } finally {
        endTimer()
      }
    },

    merge,

    /** Deletes objects that nothing has led to for an hour. */
    sweep: () => sweep(projectId),
  }
}

function haveAnyOf(blocks: readonly BlockColumns[], erasures: readonly Erasure[]): boolean {
  const erased = new Set(erasures.map(({ userId }) => userId))
  return blocks.some(({ userIds }) => userIds.some((userId) => erased.has(userId)))
}

function newestReceivedAtMs(root: Root, blocks: readonly BlockColumns[]): number {
  let newestMs = root.newestReceivedAtMs
  for (const { receivedAtMs } of blocks)
    for (const ms of receivedAtMs) if (ms > newestMs) newestMs = ms
  return newestMs
}

function laterOf(publishedMs: number, seenMs: number): number {
  return publishedMs > seenMs + WRONG_CLOCK_MS ? seenMs : Math.max(publishedMs, seenMs)
}
