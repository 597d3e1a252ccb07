import type { LRUCache } from 'lru-cache'
import { groupBy } from '../group-by.ts'
import { PACK } from '../segment/directory.ts'
import { codesColumn, TIME, TIME_HIGH, TIME_LOW, USER, valuesColumn } from '../segment/section.ts'
import { highWordsOf } from '../segment/times.ts'
import type { FoldPool } from './fold-pool.ts'
import type { PlannedSection } from './segment-plan.ts'
import type { ColumnRange, FetchTask, SharedSection } from './worker-messages.ts'

/** Columns that were read, by their keys. Bounded by bytes. */
export type SegmentCache = LRUCache<string, SharedArrayBuffer>

export interface LoadAmounts {
  partitions: number
  bytes: number
  cacheHitBytes: number
}

/** A section in shared memory; its runs as quadruples, for all read groups. */
export interface LoadedSection {
  readonly section: SharedSection
  readonly runs: readonly number[]
  /** By which they are placed. */
  readonly readGroupCount: number
}

/** A section, or the rows of it that lie in some fold groups of a section of one read group. */
interface Piece {
  readonly planned: PlannedSection
  readonly from: number
  readonly to: number
  readonly runs: readonly number[]
  readonly ranges: PieceRanges
}

interface PieceRanges {
  /** In two parts: `timeMs` is then what is made of them, and no range of a column. */
  readonly splitTimes: FetchTask['objects'][number]['times'][number] | null
  readonly timeMs: ColumnRange
  readonly user: ColumnRange
  readonly properties: readonly {
    readonly path: string
    readonly codes: ColumnRange
    readonly values: ColumnRange
    readonly codeBytes: number
  }[]
}

export type Load = ReturnType<typeof openLoad>

/** Brings columns of sections into memory: from the cache, or read by the threads. */
export function openLoad({
  pool,
  cache,
}: {
  readonly pool: FoldPool
  readonly cache: SegmentCache
}) {
  async function fetchMissing(projectId: string, pieces: readonly Piece[], amounts: LoadAmounts) {
    const buffers = new Map<string, SharedArrayBuffer>()
    const objects: FetchTask['objects'][number][] = []
    const isKnown = ({ key, bytes }: { readonly key: string; readonly bytes: number }) => {
      const known = cache.get(key)
      if (known === undefined) return false
      buffers.set(key, known)
      amounts.cacheHitBytes += bytes
      return true
    }
    for (const [object, ofObject] of groupBy(pieces, ({ planned }) => planned.ref.segment)) {
      const ranges: ColumnRange[] = []
      const times: FetchTask['objects'][number]['times'][number][] = []
      for (const { ranges: wanted } of ofObject) {
        for (const range of rangesOf(wanted)) if (!isKnown(range)) ranges.push(range)
        const { splitTimes, timeMs } = wanted
        if (splitTimes !== null && !isKnown(timeMs)) times.push(splitTimes)
      }
      if (ranges.length + times.length === 0) continue
      const all = [...ranges, ...times.flatMap(({ low, high }) => [low, high])]
      objects.push({ object, ranges, times, areWhole: areWhole(ofObject, all) })
      amounts.bytes += all.reduce((sum, { bytes }) => sum + bytes, 0)
    }
    const fetched = await pool.fetch({ projectId, objects })
    amounts.partitions += fetched.partitions
    for (const { key, buffer } of fetched.buffers) {
      cache.set(key, buffer)
      buffers.set(key, buffer)
    }
    return buffers
  }

  return async (
    wanted: {
      readonly projectId: string
      readonly sections: readonly PlannedSection[]
      readonly foldGroups: { readonly first: number; readonly last: number } | null
    },
    /** By which rows are placed; null: as they are. */
    readGroupCount: number | null,
    amounts: LoadAmounts,
  ): Promise<LoadedSection[]> => {
    const { projectId, sections, foldGroups } = wanted
    const pieces = sections
      .map((planned) => pieceOf(planned, foldGroups))
      .filter(({ from, to }) => to > from)
    const buffers = await fetchMissing(projectId, pieces, amounts)
    return await Promise.all(
      pieces.map(async ({ planned: { ref, section: source }, from, to, runs, ranges }) => {
        const section: SharedSection = {
          ...{ eventName: source.eventName, day: source.day, rowCount: to - from },
          timeMs: buffers.get(ranges.timeMs.key)!,
          user: buffers.get(ranges.user.key)!,
          properties: ranges.properties.map(({ path, codes, values, codeBytes }) => ({
            ...{ path, codeBytes, key: values.key },
            codes: buffers.get(codes.key)!,
            values: buffers.get(values.key)!,
          })),
          runs: [],
        }
        if (readGroupCount === null || ref.readGroupCount === readGroupCount)
          return { section, runs, readGroupCount: ref.readGroupCount }
        const groups = { from: ref.readGroupCount, to: readGroupCount }
        const replaced = await pool.replace({ kind: 'replace', section, runs, ...groups })
        return { ...replaced, readGroupCount }
      }),
    )
  }
}

function pieceOf(
  planned: PlannedSection,
  foldGroups: { readonly first: number; readonly last: number } | null,
): Piece {
  const { runs: triples, rowCount } = planned.section
  const runs: number[] = []
  const runRows: number[] = []
  const rowsBefore: number[] = []
  let row = 0
  let from = foldGroups === null ? 0 : rowCount
  let to = foldGroups === null ? rowCount : 0
  for (let at = 0; at < triples.length; at += 3) {
    const [readGroup, foldGroup, count] = triples.slice(at, at + 3) as [number, number, number]
    if (foldGroups === null || (foldGroup >= foldGroups.first && foldGroup <= foldGroups.last)) {
      if (foldGroups !== null) {
        from = Math.min(from, row)
        to = row + count
      }
      runs.push(readGroup, foldGroup, row - from, row - from + count)
      runRows.push(count)
    } else if (runRows.length === 0) rowsBefore.push(count)
    row += count
  }
  const rows = { from, to, runRows, rowsBefore }
  return { planned, from, to, runs, ranges: pieceRanges(planned, rows) }
}

interface PieceRows {
  readonly from: number
  readonly to: number
  /** Rows of each run of the piece, and of those before it. */
  readonly runRows: readonly number[]
  readonly rowsBefore: readonly number[]
}

function pieceRanges(
  { ref, section, properties }: PlannedSection,
  { from, to, runRows, rowsBefore }: PieceRows,
): PieceRanges {
  const { columns, rowCount } = section
  const rangeOf = (name: string, offset: number, bytes: number): ColumnRange => {
    const place = columns[name]!
    const column = ref.section === null ? PACK : name
    const at = place.offset + offset
    return { key: `${ref.segment} ${column} ${at} ${bytes}`, column, offset: at, bytes }
  }
  const rows = to - from
  const timeMs =
    columns[TIME] === undefined
      ? { ...rangeOf(TIME_LOW, 2 * from, 2 * rows), bytes: 4 * rows }
      : rangeOf(TIME, 4 * from, 4 * rows)
  const splitTimes = () => ({
    ...{ key: timeMs.key, runRows },
    low: rangeOf(TIME_LOW, 2 * from, 2 * rows),
    high: rangeOf(TIME_HIGH, 4 * highWordsOf(rowsBefore), 4 * highWordsOf(runRows)),
  })
  return {
    ...{ timeMs, splitTimes: columns[TIME] === undefined ? splitTimes() : null },
    user: rangeOf(USER, 2 * from, 2 * rows),
    properties: properties.flatMap((path) => {
      const codes = columns[codesColumn(path)]
      if (codes === undefined) return []
      const codeBytes = codes.bytes / rowCount
      const values = columns[valuesColumn(path)]!
      return [
        {
          ...{ path, codeBytes },
          codes: rangeOf(codesColumn(path), codeBytes * from, codeBytes * rows),
          values: rangeOf(valuesColumn(path), 0, values.bytes),
        },
      ]
    }),
  }
}

/** The ranges that are kept in memory as they are stored. */
function rangesOf({ timeMs, splitTimes, user, properties }: PieceRanges): ColumnRange[] {
  const whole = splitTimes === null ? [timeMs, user] : [user]
  return [...whole, ...properties.flatMap(({ codes, values }) => [codes, values])]
}

/** Whether the ranges of a segment of one section are all that its columns hold. */
function areWhole(pieces: readonly Piece[], ranges: readonly ColumnRange[]): boolean {
  const [piece] = pieces
  if (pieces.length !== 1 || piece!.planned.ref.section === null) return false
  const asked = new Map<string, number>()
  for (const { column, bytes } of ranges) asked.set(column, (asked.get(column) ?? 0) + bytes)
  const { columns } = piece!.planned.section
  return [...asked].every(([column, bytes]) => bytes === columns[column]!.bytes)
}
