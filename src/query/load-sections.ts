import type { LRUCache } from 'lru-cache'
import { PACK } from '../segment/directory.ts'
import { codesColumn, ROWS, valuesColumn } from '../segment/section.ts'
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
  readonly timeMs: ColumnRange
  readonly user: ColumnRange
  readonly properties: readonly {
    readonly path: string
    readonly codes: ColumnRange
    readonly values: ColumnRange
    readonly codeBytes: number
  }[]
}

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
    for (const [object, ofObject] of piecesByObject(pieces)) {
      const ranges: ColumnRange[] = []
      for (const range of ofObject.flatMap(rangesOf)) {
        const known = cache.get(range.key)
        if (known === undefined) ranges.push(range)
        else {
          buffers.set(range.key, known)
          amounts.cacheHitBytes += range.bytes
        }
      }
      if (ranges.length === 0) continue
      objects.push({ object, ranges, areWhole: areWhole(ofObject, ranges) })
      amounts.bytes += ranges.reduce((sum, { bytes }) => sum + bytes, 0)
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
      readonly properties: readonly string[]
      readonly foldGroups: { readonly first: number; readonly last: number } | null
    },
    readGroupCount: number,
    amounts: LoadAmounts,
  ): Promise<LoadedSection[]> => {
    const { projectId, sections, properties, foldGroups } = wanted
    const pieces = sections
      .map((planned) => pieceOf(planned, properties, foldGroups))
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
        if (ref.readGroupCount === readGroupCount) return { section, runs }
        const groups = { from: ref.readGroupCount, to: readGroupCount }
        return await pool.replace({ kind: 'replace', section, runs, ...groups })
      }),
    )
  }
}

function pieceOf(
  planned: PlannedSection,
  properties: readonly string[],
  foldGroups: { readonly first: number; readonly last: number } | null,
): Piece {
  const { runs: triples, rowCount } = planned.section
  const runs: number[] = []
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
    }
    row += count
  }
  return { planned, from, to, runs, ranges: pieceRanges(planned, properties, from, to) }
}

function pieceRanges(
  { ref, section }: PlannedSection,
  properties: readonly string[],
  from: number,
  to: number,
): PieceRanges {
  const { columns, rowCount } = section
  const rangeOf = (name: string, offset: number, bytes: number): ColumnRange => {
    const place = columns[name]!
    const column = ref.section === null ? PACK : name
    const at = place.offset + offset
    return { key: `${ref.segment} ${column} ${at} ${bytes}`, column, offset: at, bytes }
  }
  const rows = to - from
  return {
    timeMs: rangeOf(ROWS, 4 * from, 4 * rows),
    user: rangeOf(ROWS, 4 * rowCount + 2 * from, 2 * rows),
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

function rangesOf({ ranges: { timeMs, user, properties } }: Piece): ColumnRange[] {
  return [timeMs, user, ...properties.flatMap(({ codes, values }) => [codes, values])]
}

function piecesByObject(pieces: readonly Piece[]): Map<string, Piece[]> {
  const byObject = new Map<string, Piece[]>()
  for (const piece of pieces) {
    const { segment } = piece.planned.ref
    const ofObject = byObject.get(segment)
    if (ofObject === undefined) byObject.set(segment, [piece])
    else ofObject.push(piece)
  }
  return byObject
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
