import { LRUCache } from 'lru-cache'
import { propertiesOf } from '../analysis/funnel-spec.ts'
import type { Funnel } from '../analysis/funnel.ts'
import type { FunnelCounts } from '../analysis/tally.ts'
import type { Root } from '../segment/root.ts'
import type { Snapshots } from '../store/snapshots.ts'
import { throwIfCancelled } from './cancel.ts'
import type { FoldPool } from './fold-pool.ts'
import { openLeftOut, type LeftOutOf } from './left-out.ts'
import { openLoad, type LoadAmounts, type LoadedSection } from './load-sections.ts'
import { mergeBounded } from './merge-bounded.ts'
import {
  planSegments,
  tooManyEvents,
  sectionsOfGroup,
  type SegmentPlan,
  type SegmentRead,
  type Unit,
} from './segment-plan.ts'
import { openValuePasses } from './value-passes.ts'
import type { FoldQuestion, LeftOutUsers } from './worker-messages.ts'

/** Where the values of a pass are. */
export const VALUES: Unit = { readGroup: 0, foldGroups: null }
export const NOBODY: LeftOutUsers = { erased: [], sampled: null }
/** Several for each thread, so that none is idle while another ends. */
const TASKS_PER_THREAD = 2

export interface SegmentAmounts extends LoadAmounts {
  events: number
  foldMs: number
}

/** What is done with a unit. */
interface UnitFold {
  readonly question: FoldQuestion
  readonly leftOutOf: LeftOutOf
  readonly signal: AbortSignal
}

export type Segments = ReturnType<typeof openSegments>

/**
 * Folds what is published: reads the columns of one read group while the one before is folded, all threads
 * sharing both.
 */
export function openSegments(dependencies: {
  readonly snapshots: Snapshots
  readonly pool: FoldPool
  readonly cacheBytesMax: number
  /** What the columns being read and folded may take. */
  readonly memoryBytesMax: number
  readonly eventsMax: number
}) {
  const { snapshots, pool, cacheBytesMax, memoryBytesMax, eventsMax } = dependencies
  const cache = new LRUCache<string, SharedArrayBuffer>({
    maxSize: Math.max(1, cacheBytesMax),
    sizeCalculation: ({ byteLength }) => byteLength + 1,
  })
  const load = openLoad({ pool, cache })

  /** Cuts what a unit has of the sections into shares for the threads, ascending by fold group. */
  function sharesOf(
    loaded: readonly LoadedSection[],
    { readGroup, foldGroups }: Unit,
    leftOutOf: LeftOutOf,
  ) {
    const rowsOf = new Map<number, number>()
    const sections = loaded.flatMap(({ section, runs }) => {
      const own: number[] = []
      for (let at = 0; at < runs.length; at += 4) {
        const [group, foldGroup, from, to] = runs.slice(at, at + 4) as [
          number,
          number,
          number,
          number,
        ]
        if (group !== readGroup) continue
        if (foldGroups !== null && (foldGroup < foldGroups.first || foldGroup > foldGroups.last))
          continue
        own.push(foldGroup, from, to)
        rowsOf.set(foldGroup, (rowsOf.get(foldGroup) ?? 0) + to - from)
      }
      return own.length === 0 ? [] : [{ ...section, runs: own }]
    })
    return {
      sections,
      shares: equalShares(rowsOf, pool.threadCount * TASKS_PER_THREAD),
      rowCount: [...rowsOf.values()].reduce((sum, rows) => sum + rows, 0),
      ...leftOutOf(readGroup),
    }
  }

  async function foldUnit(
    loaded: readonly LoadedSection[],
    unit: Unit,
    { question, leftOutOf, signal }: UnitFold,
    amounts: SegmentAmounts,
  ): Promise<FunnelCounts[]> {
    const { shares, rowCount, ...task } = sharesOf(loaded, unit, leftOutOf)
    const folded = await Promise.all(
      shares.map((foldGroups) =>
        pool.fold({ kind: 'fold', question, foldGroups, ...task }, signal),
      ),
    )
    amounts.events += rowCount
    for (const { foldMs } of folded) amounts.foldMs += foldMs / pool.threadCount
    return folded.map(({ counts }) => counts)
  }

  /** Reads what all units share; what is returned reads units, or some fold groups of one, beside it. */
  async function open(
    { projectId, signal }: SegmentRead,
    { alone, shared, readGroupCount }: SegmentPlan,
    amounts: SegmentAmounts,
  ) {
    const ofAll = await load(
      { projectId, sections: shared, foldGroups: null },
      readGroupCount,
      amounts,
    )
    return {
      ofAll,
      async loadUnit({ readGroup, foldGroups }: Unit): Promise<LoadedSection[]> {
        throwIfCancelled(signal)
        const sections = sectionsOfGroup(alone, readGroup, readGroupCount)
        const own = await load({ projectId, sections, foldGroups }, readGroupCount, amounts)
        return [...ofAll, ...own]
      },
    }
  }

  const forEachClass = openValuePasses({ pool, load, memoryBytesMax, eventsMax })

  /** Counts the values of a property as if they were users. */
  async function foldValues(
    read: SegmentRead,
    plan: SegmentPlan,
    { funnel, question }: { readonly funnel: Funnel; readonly question: FoldQuestion },
  ): Promise<{ counts: FunnelCounts; amounts: SegmentAmounts }> {
    const amounts = { partitions: 0, bytes: 0, cacheHitBytes: 0, events: 0, foldMs: 0 }
    let counts = funnel.empty()
    await forEachClass(read, plan, propertiesOf(question.spec), amounts, async (placed) => {
      // All its events were counted when they were read.
      const folded = { ...amounts, foldMs: 0 }
      const parts = await foldUnit(
        placed,
        VALUES,
        { question, leftOutOf: () => NOBODY, signal: read.signal },
        folded,
      )
      for (const part of parts) counts = mergeBounded(funnel, counts, part)
      amounts.foldMs += folded.foldMs
    })
    return { counts, amounts }
  }

  return {
    ...{ open, sharesOf, forEachClass },

    /** Finds what there is to read. Throws QUERY_TOO_LARGE, with the estimate, when it is too much. */
    async plan(root: Root, read: SegmentRead): Promise<SegmentPlan> {
      // While a unit is folded the next one is read.
      const plan = await planSegments(snapshots, root, read, memoryBytesMax / 2)
      if (plan.rowCount > eventsMax) throw tooManyEvents(plan.rowCount, eventsMax)
      return plan
    },

    /** Folds what was planned. Throws CANCELLED or QUERY_TIMEOUT soon after the signal. */
    async fold(
      read: SegmentRead,
      plan: SegmentPlan,
      { funnel, question }: { readonly funnel: Funnel; readonly question: FoldQuestion },
    ): Promise<{ counts: FunnelCounts; amounts: SegmentAmounts }> {
      if (plan.values !== null) return await foldValues(read, plan, { funnel, question })
      const leftOutOf = openLeftOut(plan)
      const amounts = { partitions: 0, bytes: 0, cacheHitBytes: 0, events: 0, foldMs: 0 }
      const { loadUnit } = await open(read, plan, amounts)
      let counts = funnel.empty()
      const take = (parts: readonly FunnelCounts[]) => {
        for (const part of parts) counts = mergeBounded(funnel, counts, part)
      }
      let folding: Promise<FunnelCounts[]> = Promise.resolve([])
      for (const unit of plan.units) {
        // The unit before is folded meanwhile. Its last folds leave threads free for the first of this one.
        const loaded = await loadUnit(unit)
        throwIfCancelled(read.signal)
        const next = foldUnit(loaded, unit, { question, leftOutOf, signal: read.signal }, amounts)
        // Its failure is met when it is waited for, or not at all when the fold before it fails.
        next.catch(() => undefined)
        take(await folding)
        folding = next
      }
      take(await folding)
      return { counts, amounts }
    },
  }
}

/** Splits fold groups into contiguous shares of about as many rows each. */
function equalShares(rowsOf: ReadonlyMap<number, number>, count: number): number[][] {
  const total = [...rowsOf.values()].reduce((sum, rows) => sum + rows, 0)
  const shares: number[][] = []
  let rows = 0
  for (const [foldGroup, ofGroup] of [...rowsOf].sort(([a], [b]) => a - b)) {
    if (shares.length === 0 || rows >= (total / count) * shares.length) shares.push([])
    shares.at(-1)!.push(foldGroup)
    rows += ofGroup
  }
  return shares
}
