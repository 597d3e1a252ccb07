import { propertiesOf } from '../analysis/funnel-spec.ts'
import type { Funnel } from '../analysis/funnel.ts'
import type { FunnelCounts } from '../analysis/tally.ts'
import { throwIfCancelled } from './cancel.ts'
import { erasedRows } from './erased-places.ts'
import type { FoldPool } from './fold-pool.ts'
import type { Load, LoadedSection } from './load-sections.ts'
import { mergeBounded } from './merge-bounded.ts'
import {
  neededBytes,
  tooManyEvents,
  type PlannedSection,
  type SegmentPlan,
  type SegmentRead,
  type ValuePlan,
} from './segment-plan.ts'
import type { SegmentAmounts } from './segments.ts'
import type { FoldQuestion, ValueClass } from './worker-messages.ts'

/** A slab of sections is placed while the next is read: both take a quarter of the memory. */
const SLABS_PER_MEMORY = 8
/** The rows of a pass take half of the memory (segment-plan.ts), its values a quarter. */
const VALUES_PER_MEMORY = 4
/** What the heap of a thread is sure to hold. */
const VALUES_BYTES_MAX = 536_870_912

/**
 * Counts by the values of a property instead of users. A pass takes the values of one class: it reads all rows,
 * slab by slab, numbers the values, places the rows by these numbers, and folds them as if they were users.
 */
export function openValuePasses(dependencies: {
  readonly pool: FoldPool
  readonly load: Load
  /** Folds sections that lie in one read group. */
  readonly fold: (
    sections: readonly LoadedSection[],
    asked: { readonly question: FoldQuestion; readonly signal: AbortSignal },
    amounts: SegmentAmounts,
  ) => Promise<FunnelCounts[]>
  readonly memoryBytesMax: number
  readonly eventsMax: number
}) {
  const { pool, load, fold, memoryBytesMax, eventsMax } = dependencies

  /** Returns the rows of a class, placed; null where its values take too much memory. */
  async function placeClass(
    { projectId, sample, signal }: SegmentRead,
    { property, slabs, kept, erasedUsers }: ValuesAsked,
    valueClass: ValueClass,
    amounts: SegmentAmounts,
  ): Promise<LoadedSection[] | null> {
    const bytesMax = Math.min(memoryBytesMax / VALUES_PER_MEMORY, VALUES_BYTES_MAX)
    const numbering = pool.openNumbering({ valueClass, sample, bytesMax })
    const loadSlab = (sections: readonly PlannedSection[]) =>
      load({ projectId, sections, foldGroups: null }, null, amounts)
    const placed: LoadedSection[] = []
    try {
      let loading = loadSlab(slabs[0]!)
      for (const index of slabs.keys()) {
        const loaded = await loading
        throwIfCancelled(signal)
        const next = slabs[index + 1]
        if (next !== undefined) loading = loadSlab(next)
        // Its failure is met when it is waited for, or not at all when the pass ends before.
        loading.catch(() => undefined)
        const dictionaries = loaded.map((one) => dictionaryOf(one, property))
        for (const { section } of loaded) amounts.events += section.rowCount
        const { tables } = await numbering.number(dictionaries)
        if (tables === null) return null
        const parts = await Promise.all(
          loaded.map((one, at) => {
            const erased = erasedRows(one, erasedUsers)
            const task = { section: one.section, property, table: tables[at]!, kept, erased }
            return pool.replace({ kind: 'place', ...task })
          }),
        )
        for (const part of parts)
          if (part.section.rowCount > 0) placed.push({ ...part, readGroupCount: 1 })
      }
      return placed
    } finally {
      numbering.close()
    }
  }

  /**
   * Folds what was planned. A class whose values turn out to be too many is split in two. Throws QUERY_TOO_LARGE
   * where more would be read for it than is allowed, and CANCELLED or QUERY_TIMEOUT soon after the signal.
   */
  return async (
    read: SegmentRead,
    plan: ValuePlan & Pick<SegmentPlan, 'erasedUsers'>,
    { funnel, question }: { readonly funnel: Funnel; readonly question: FoldQuestion },
  ): Promise<{ counts: FunnelCounts; amounts: SegmentAmounts }> => {
    const { property, sections, rowCount, classCount, erasedUsers } = plan
    const amounts = { partitions: 0, bytes: 0, cacheHitBytes: 0, events: 0, foldMs: 0 }
    let counts = funnel.empty()
    if (sections.length === 0) return { counts, amounts }
    const slabs = slabsOf(sections, memoryBytesMax / SLABS_PER_MEMORY)
    const asked = { property, slabs, kept: propertiesOf(question.spec), erasedUsers }
    const classes = Array.from({ length: classCount }, (_, index) => ({ count: classCount, index }))
    for (let next = classes.pop(); next !== undefined; next = classes.pop()) {
      const placed = await placeClass(read, asked, next, amounts)
      if (placed === null) {
        const count = 2 * next.count
        if (count * rowCount > eventsMax) throw tooManyEvents(count * rowCount, eventsMax)
        classes.push({ count, index: next.index }, { count, index: next.index + next.count })
        continue
      }
      throwIfCancelled(read.signal)
      const folded = { ...amounts, foldMs: 0 }
      const parts = await fold(placed, { question, signal: read.signal }, folded)
      for (const part of parts) counts = mergeBounded(funnel, counts, part)
      amounts.foldMs += folded.foldMs
    }
    return { counts, amounts }
  }
}

interface ValuesAsked extends Pick<SegmentPlan, 'erasedUsers'> {
  readonly property: string
  readonly slabs: Slabs
  /** The properties that the fold looks at. */
  readonly kept: readonly string[]
}

type Slabs = readonly (readonly PlannedSection[])[]

/** Cuts sections into slabs that take so many bytes at most, or are one section. */
function slabsOf(sections: readonly PlannedSection[], bytesMax: number): Slabs {
  const slabs: PlannedSection[][] = []
  let bytes = Infinity
  for (const planned of sections) {
    const own = neededBytes(planned)
    if (bytes + own > bytesMax) {
      slabs.push([])
      bytes = 0
    }
    slabs.at(-1)!.push(planned)
    bytes += own
  }
  return slabs
}

function dictionaryOf({ section }: LoadedSection, property: string): SharedArrayBuffer {
  return section.properties.find(({ path }) => path === property)!.values
}
