// With `commitlog_sync: periodic`, Cassandra copies a write into the mapped file of the commit log and
// acknowledges it, but marks it as part of the log only within the next 100 ms. A replay stops at the
// last mark. So a node that is killed keeps every acknowledged write in its files and yet forgets the
// last ones. Marking them before the next start is all that is missing.
//
// The format is that of CommitLogDescriptor, CommitLogSegment and CommitLogReader in Cassandra 5.0:
// a header, then sections. A section is a mark (where the next mark is; CRC of segment id and own place;
// all zero while there is no next), then entries (size; CRC of size; mutation; CRC of size and mutation).
import { existsSync } from 'node:fs'
import { open, readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'

const VERSION = 8
const PARAMETERS_OFFSET = 14
const MARK_BYTES = 8
const ENTRY_EXTRA_BYTES = 12

/** The start of a mutation of a table that does not exist, which a replay counts and passes over. */
const NO_MUTATION = Buffer.from('01f0f1f2f3f4f541f6b7f8f9fafbfcfdfe', 'hex')

/**
 * Makes a killed node's commit log whole: every write that was acknowledged will be replayed. Returns
 * how many would not have been. Only for a node that does not run; safe to repeat.
 */
export async function completeCommitLog(folder: string): Promise<number> {
  let writeCount = 0
  for (const name of existsSync(folder) ? await readdir(folder) : []) {
    if (!name.startsWith(`CommitLog-${VERSION}-`)) continue
    const segment = await readFile(join(folder, name))
    const tail = markTail(segment)
    if (tail === null) continue
    await rewrite(join(folder, name), segment, tail)
    writeCount += tail.writeCount
  }
  return writeCount
}

export interface Tail {
  readonly writeCount: number
  /** The part of the segment that has changed; it begins with the mark that makes it count. */
  readonly startOffset: number
  readonly endOffset: number
}

/**
 * Marks, in the bytes of a segment, the whole entries behind its last mark. Returns null, and changes
 * nothing, where there are none, or where the segment is not of the format that is written here.
 */
export function markTail(segment: Buffer): Tail | null {
  const startOffset = lastMark(segment)
  if (startOffset === null) return null
  const dataEnd = endOfData(segment)
  let mark = startOffset
  let offset = mark + MARK_BYTES
  let writeCount = 0
  for (;;) {
    const entry = nextEntry(segment, offset, dataEnd)
    if (entry === null) break
    const gapBytes = entry.start - offset
    if (gapBytes === MARK_BYTES) {
      // The place that was taken for the next mark.
      writeMark(segment, mark, offset)
      mark = offset
    } else if (gapBytes > 0) {
      fillGap(segment, offset, entry.start)
    }
    offset = entry.end
    writeCount++
  }
  if (writeCount === 0) return null
  writeMark(segment, mark, offset)
  // Half of a write that was never acknowledged would be taken for a broken mark.
  const endOffset = Math.min(offset + MARK_BYTES, segment.length)
  segment.fill(0, offset, endOffset)
  return { writeCount, startOffset, endOffset }
}

/** Returns where the last mark of a segment is; null when the segment is full or of another format. */
function lastMark(segment: Buffer): number | null {
  if (segment.length < PARAMETERS_OFFSET || segment.readInt32BE(0) !== VERSION) return null
  const parametersEnd = PARAMETERS_OFFSET + segment.readUInt16BE(PARAMETERS_OFFSET - 2)
  // Parameters tell of compression or encryption, which write sections of another shape.
  if (segment.toString('utf8', PARAMETERS_OFFSET, parametersEnd) !== '{}') return null
  let mark = parametersEnd + 4
  while (mark <= segment.length - MARK_BYTES) {
    const next = segment.readInt32BE(mark)
    const isWhole = segment.readUInt32BE(mark + 4) === markCrc(segment, mark)
    if (!isWhole || next <= mark || next > segment.length) return mark
    mark = next
  }
  return null
}

/** Returns the first whole entry at or behind an offset: a writer that died has left a gap before it. */
function nextEntry(segment: Buffer, from: number, dataEnd: number) {
  for (let start = from; start + ENTRY_EXTRA_BYTES <= dataEnd; start++) {
    const size = segment.readInt32BE(start)
    const end = start + ENTRY_EXTRA_BYTES + size
    if (size <= 0 || end > segment.length) continue
    const sizeCrc = crc32(segment.subarray(start, start + 4))
    if (sizeCrc !== segment.readUInt32BE(start + 4)) continue
    const mutation = segment.subarray(start + 8, end - 4)
    if (crc32(mutation, sizeCrc) === segment.readUInt32BE(end - 4)) return { start, end }
  }
  return null
}

// A gap is a write that was never acknowledged, so it is longer than `NO_MUTATION`.
function fillGap(segment: Buffer, start: number, end: number): void {
  const size = end - start - ENTRY_EXTRA_BYTES
  segment.fill(0, start, end)
  segment.writeInt32BE(size, start)
  const sizeCrc = crc32(segment.subarray(start, start + 4))
  segment.writeUInt32BE(sizeCrc, start + 4)
  NO_MUTATION.copy(segment, start + 8, 0, size)
  segment.writeUInt32BE(crc32(segment.subarray(start + 8, end - 4), sizeCrc), end - 4)
}

function writeMark(segment: Buffer, mark: number, next: number): void {
  segment.writeInt32BE(next, mark)
  segment.writeUInt32BE(markCrc(segment, mark), mark + 4)
}

function markCrc(segment: Buffer, mark: number): number {
  const covered = Buffer.alloc(12)
  segment.copy(covered, 0, 8, 12) // the segment's id, lower half first
  segment.copy(covered, 4, 4, 8)
  covered.writeInt32BE(mark, 8)
  return crc32(covered)
}

/** Returns the offset behind the last byte that is not zero. */
function endOfData(segment: Buffer): number {
  let end = segment.length
  while (end > 0 && segment[end - 1] === 0) end--
  return end
}

/** Writes a tail into its file, and what makes it count last. */
async function rewrite(path: string, segment: Buffer, tail: Tail): Promise<void> {
  const { startOffset, endOffset } = tail
  const behindMark = startOffset + MARK_BYTES
  const file = await open(path, 'r+')
  try {
    await file.write(segment, behindMark, endOffset - behindMark, behindMark)
    await file.datasync()
    await file.write(segment, startOffset, MARK_BYTES, startOffset)
    await file.datasync()
  } finally {
    await file.close()
  }
}
