import pLimit from 'p-limit'
import { CHUNK_BYTES_MAX } from '../segment/chunk.ts'
import { joinTimes } from '../segment/times.ts'
import { chunksOf, damaged, type Chunk, type ObjectId, type Objects } from '../store/objects.ts'
import type { ColumnRange, Fetched, FetchTask } from './worker-messages.ts'

/** Objects read at once by a thread. */
const OBJECTS_IN_FLIGHT_MAX = 4

/** Reads ranges of columns into memory that all threads share. */
export function openFetch(objects: Objects) {
  const limit = pLimit(OBJECTS_IN_FLIGHT_MAX)

  async function* chunksFor(
    id: ObjectId,
    ranges: readonly ColumnRange[],
    areWhole: boolean,
  ): AsyncGenerator<Chunk[]> {
    const filled = ranges.filter(({ bytes }) => bytes > 0)
    if (areWhole) {
      const columns = [...new Set(filled.map(({ column }) => column))]
      if (columns.length > 0) yield* objects.read(id, columns)
      return
    }
    for (const { column, first, last } of spansOf(filled))
      yield* objects.readChunks(id, column, { first, last })
  }

  async function fetchObject(projectId: string, wanted: FetchTask['objects'][number]) {
    const id = { projectId, object: wanted.object }
    const { ranges, times, areWhole } = wanted
    // Each array is filled the same way: one that came by message is of another kind to the engine.
    const targets: Target[] = []
    const all: ColumnRange[] = []
    const targetOf = (range: ColumnRange): Target => {
      const bytes = new Uint8Array(new SharedArrayBuffer(range.bytes))
      const target = { range, bytes, missing: range.bytes }
      targets.push(target)
      all.push(range)
      return target
    }
    const shared: Target[] = []
    for (const range of ranges) shared.push(targetOf(range))
    const parts: { readonly low: Target; readonly high: Target }[] = []
    for (const { low, high } of times) parts.push({ low: targetOf(low), high: targetOf(high) })
    for await (const page of chunksFor(id, all, areWhole))
      for (const { column, chunk, bytes } of page)
        for (const target of targets) {
          if (target.range.column !== column) continue
          target.missing -= copyOverlap(target, chunk * CHUNK_BYTES_MAX, bytes)
        }
    for (const { range, missing } of targets)
      if (missing !== 0) throw damaged(id, `${range.column} from ${range.offset}`)
    return [
      ...shared.map(({ range: { key }, bytes }) => ({
        key,
        buffer: bytes.buffer as SharedArrayBuffer,
      })),
      ...times.map(({ key, runRows }, index) => ({
        key,
        buffer: joined(id, parts[index]!, runRows),
      })),
    ]
  }

  return async ({ projectId, objects: wanted }: FetchTask): Promise<Fetched> => {
    const buffers = await Promise.all(
      wanted.map((object) => limit(() => fetchObject(projectId, object))),
    )
    return { partitions: wanted.length, buffers: buffers.flat() }
  }
}

interface Target {
  readonly range: ColumnRange
  readonly bytes: Uint8Array
  missing: number
}

function joined(
  id: ObjectId,
  { low, high }: { readonly low: Target; readonly high: Target },
  runRows: readonly number[],
): SharedArrayBuffer {
  const split = {
    low: new Uint16Array(low.bytes.buffer),
    high: new Uint32Array(high.bytes.buffer),
  }
  const buffer = new SharedArrayBuffer(4 * split.low.length)
  try {
    joinTimes(split, runRows, new Uint32Array(buffer))
  } catch (error) {
    throw damaged(id, high.range.column, error)
  }
  return buffer
}

/** Copies what a chunk, which begins at `start` of its column, has of a range; returns how much. */
function copyOverlap({ range, bytes: target }: Target, start: number, chunk: Uint8Array): number {
  const from = Math.max(start, range.offset)
  const to = Math.min(start + chunk.length, range.offset + range.bytes)
  if (from >= to) return 0
  target.set(chunk.subarray(from - start, to - start), from - range.offset)
  return to - from
}

/** Returns the chunks that hold the ranges, as few runs of neighbours as may be. */
function spansOf(ranges: readonly ColumnRange[]) {
  const spans: { column: string; first: number; last: number }[] = []
  const sorted = ranges.toSorted((a, b) =>
    a.column === b.column ? a.offset - b.offset : a.column < b.column ? -1 : 1,
  )
  for (const range of sorted) {
    const { column } = range
    const { first, last } = chunksOf(range)
    const open = spans.at(-1)
    if (open?.column === column && first <= open.last + 1) open.last = Math.max(open.last, last)
    else spans.push({ column, first, last })
  }
  return spans
}
