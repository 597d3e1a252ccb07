import { LRUCache } from 'lru-cache'
import type { Funnel, FunnelCounts } from '../analysis/funnel.ts'
import { AppError } from '../error.ts'
import type { Root } from '../segment/root.ts'
import type { Snapshots } from '../store/snapshots.ts'
import { throwIfCancelled } from './cancel.ts'
import type { FoldPool } from './fold-pool.ts'
import { openLoad, type LoadAmounts, type LoadedSection } from './load-sections.ts'
import {
  coarse,
  planSegments,
  type SegmentPlan,
  type SegmentRead,
  type Unit,
} from './segment-plan.ts'
import type { FoldQuestion } from './worker-messages.ts'

/** Several for each thread, so that none is idle while another ends. */
const TASKS_PER_THREAD = 2

export interface SegmentAmounts extends LoadAmounts {
  events: number
  foldMs: number
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

  async function foldUnit(
    loaded: readonly LoadedSection[],
    { readGroup, foldGroups, erased }: Unit,
    question: FoldQuestion,
    amounts: SegmentAmounts,
  ): Promise<FunnelCounts[]> {
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
    const shares = equalShares(rowsOf, pool.threadCount * TASKS_PER_THREAD)
    const folded = await Promise.all(
      shares.map((share) =>
        pool.fold({ kind: 'fold', question, sections, foldGroups: share, erased }),
      ),
    )
    for (const rows of rowsOf.values()) amounts.events += rows
    for (const { foldMs } of folded) amounts.foldMs += foldMs / pool.threadCount
    return folded.map(({ counts }) => counts)
  }

  return {
    /** Finds what there is to read. Throws QUERY_TOO_LARGE, with the estimate, when it is too much. */
    async plan(root: Root, read: SegmentRead): Promise<SegmentPlan> {
      // While a unit is folded the next one is read.
      const plan = await planSegments(snapshots, root, read, memoryBytesMax / 2)
      if (plan.rowCount > eventsMax)
        throw new AppError(
          'QUERY_TOO_LARGE',
          `this would read ${plan.rowCount} events, and at most ${eventsMax} are allowed: ` +
            'ask about fewer days or events',
        )
      return plan
    },

    /** Folds what was planned. Throws CANCELLED or QUERY_TIMEOUT soon after the signal. */
    async fold(
      read: SegmentRead,
      plan: SegmentPlan,
      { funnel, question }: { readonly funnel: Funnel; readonly question: FoldQuestion },
    ): Promise<{ counts: FunnelCounts; amounts: SegmentAmounts }> {
      const { readGroupCount, units, alone, shared } = plan
      const { projectId, properties, signal } = read
      const amounts = { partitions: 0, bytes: 0, cacheHitBytes: 0, events: 0, foldMs: 0 }
      const loadUnit = ({ readGroup, foldGroups }: Unit) => {
        throwIfCancelled(signal)
        const sections = alone.filter(
          ({ ref, section }) =>
            coarse(section.runs[0]!, ref.readGroupCount, readGroupCount) === readGroup,
        )
        return load({ projectId, sections, properties, foldGroups }, readGroupCount, amounts)
      }
      let counts = funnel.empty()
      const ofAll = await load(
        { projectId, sections: shared, properties, foldGroups: null },
        readGroupCount,
        amounts,
      )
      let loading = units.length === 0 ? null : loadUnit(units[0]!)
      for (const [index, unit] of units.entries()) {
        const loaded = await loading!
        throwIfCancelled(signal)
        const next = units[index + 1]
        loading = next === undefined ? null : loadUnit(next)
        // Its failure is met when it is waited for, or not at all when the fold before it fails.
        loading?.catch(() => undefined)
        for (const part of await foldUnit([...ofAll, ...loaded], unit, question, amounts))
          counts = funnel.merge(counts, part)
      }
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
