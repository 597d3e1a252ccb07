import { decodeBlockColumns, type BlockColumns } from '../segment/block.ts'
import type { Root, WriterPosition } from '../segment/root.ts'
import {
  decodedArrival,
  SEQUENCES_PER_PAGE,
  type Arrival,
  type Arrivals,
} from '../store/arrivals.ts'
import type { WriterHead, WriterHeads } from '../store/writer-heads.ts'
import type { Writers } from '../store/writers.ts'
import { openSilenceTest } from './silence.ts'

/** What one pass takes at most, so that it fits in memory several times over. */
const BLOCK_BYTES_PER_PASS_MAX = 16_777_216
/** More commits than can be in flight; what leaves more gaps has expired. */
const GAPS_MAX = 1_024

export interface Gathered {
  readonly blocks: readonly BlockColumns[]
  readonly writers: Record<string, WriterPosition>
  /** Whether all that was to be seen is taken. */
  readonly isDrained: boolean
  /** Whether positions differ from the root's, with or without events. */
  readonly isChanged: boolean
  /** Silent writers, by what of their rows may not be written. */
  readonly unfinished: readonly { readonly writer: string; readonly rowsThrough: number }[]
  /** Whether commits that a writer told of as stored cannot be seen: they have expired. */
  readonly isMissing: boolean
}

export type Gather = ReturnType<typeof openGather>

/** Looks for what the writers of a project took in, beyond what its root says is sealed. */
export function openGather(dependencies: {
  readonly arrivals: Arrivals
  readonly writers: Writers
  readonly writerHeads: WriterHeads
  readonly monotonicMs: () => number
}) {
  const { arrivals, writers, writerHeads, monotonicMs } = dependencies
  const isSilent = openSilenceTest(monotonicMs)

  /** Reads a writer's blocks after its position, and in its gaps, up to `bytesMax`. */
  async function readWriter(
    { projectId, writer, bytesMax }: { projectId: string; writer: string; bytesMax: number },
    position: WriterPosition,
    head: WriterHead | null,
  ) {
    const found: Arrival[] = []
    let bytes = 0
    for (const sequence of position.gaps) {
      const arrival = await arrivals.read(projectId, writer, sequence)
      if (arrival === null) continue
      found.push(arrival)
      bytes += arrival.block.length
    }
    const last = head?.projects.get(projectId)?.lastSequence ?? -1
    let through = position.through
    let from = through + 1
    while (bytes < bytesMax) {
      for await (const arrival of arrivals.readPage(projectId, writer, from)) {
        found.push(arrival)
        bytes += arrival.block.length
        through = arrival.sequence
        if (bytes >= bytesMax) break
      }
      from = (Math.floor(from / SEQUENCES_PER_PAGE) + 1) * SEQUENCES_PER_PAGE
      // So many commits may be on their way at most.
      if (from > Math.max(through + SEQUENCES_PER_PAGE, last)) break
    }
    return { found, bytes, through, isWhole: bytes < bytesMax }
  }

  return async function gather(projectId: string, root: Root): Promise<Gathered> {
    const blocks: BlockColumns[] = []
    const positions: Record<string, WriterPosition> = {}
    const unfinished: { writer: string; rowsThrough: number }[] = []
    let bytesLeft = BLOCK_BYTES_PER_PASS_MAX
    let isDrained = true
    let isChanged = false
    let isMissing = false
    // A writer leaves the root when it leaves the table: nothing of it can be read again.
    for (const writer of await writers.list(projectId)) {
      const known = root.writers[writer]
      if (known?.isClosed) {
        positions[writer] = known
        continue
      }
      const position = known ?? { through: -1, gaps: [], rowsThrough: -1, isClosed: false }
      const lookedMs = monotonicMs()
      const head = await writerHeads.read(writer)
      // Silence is judged before the blocks are read: this look is the one after it.
      const silent = isSilent(writer, head, lookedMs)
      if (bytesLeft <= 0) {
        positions[writer] = position
        isDrained = false
        continue
      }
      const read = await readWriter({ projectId, writer, bytesMax: bytesLeft }, position, head)
      bytesLeft -= read.bytes
      isDrained &&= read.isWhole
      for (const { sequence, block } of read.found)
        blocks.push(decodedArrival({ projectId, writer, sequence }, block, decodeBlockColumns))
      const told = head?.projects.get(projectId)?.rowsWholeThrough ?? -1
      const { next, isLost } = nextPosition(position, read, told)
      isMissing ||= isLost
      if (silent && read.isWhole) {
        if (next.rowsThrough < next.through)
          unfinished.push({ writer, rowsThrough: next.rowsThrough })
        positions[writer] = { ...next, gaps: [], isClosed: true }
      } else positions[writer] = next
      isChanged ||= silent || read.found.length > 0 || known === undefined
    }
    isChanged ||= Object.keys(root.writers).length !== Object.keys(positions).length
    return { blocks, writers: positions, isDrained, isChanged, unfinished, isMissing }
  }
}

/**
 * `told` is the number up to which the writer told that everything is stored, before its blocks were looked
 * for: what cannot be seen of that has expired.
 */
function nextPosition(
  position: WriterPosition,
  read: {
    readonly found: readonly Arrival[]
    readonly through: number
    readonly isWhole: boolean
  },
  told: number,
): { readonly next: WriterPosition; readonly isLost: boolean } {
  const { found, isWhole } = read
  // What was not looked for is not lost.
  const through = isWhole ? Math.max(read.through, told) : read.through
  const seen = new Set(found.map(({ sequence }) => sequence))
  let isLost = through > read.through
  const gaps = position.gaps.filter((sequence) => !seen.has(sequence))
  for (let sequence = position.through + 1; sequence < read.through; sequence++) {
    if (!seen.has(sequence)) gaps.push(sequence)
    if (gaps.length <= GAPS_MAX) continue
    gaps.shift()
    isLost = true
  }
  const open = gaps.filter((sequence) => sequence > told)
  isLost ||= open.length < gaps.length
  const rowsThrough = Math.max(position.rowsThrough, told)
  return {
    next: { through, gaps: open, rowsThrough, isClosed: false },
    isLost,
  }
}
