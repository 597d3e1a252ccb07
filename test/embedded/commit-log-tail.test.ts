// The format is written here from its description alone, and read back as Cassandra's replay does. That
// Cassandra agrees is shown by the test of a killed node in database.test.ts.
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { markTail } from '../../src/embedded/commit-log-tail.ts'

const SEGMENT_BYTES = 8_192
const HEADER_BYTES = 20
const MARK_BYTES = 8
const SEGMENT_ID = 1_796_090_445_131n

/** What a node that was killed may have left behind its last mark. */
type Part = { readonly kind: 'entry' | 'torn' | 'mark slot'; readonly body: Buffer }

const part: fc.Arbitrary<Part> = fc.record({
  kind: fc.constantFrom('entry', 'entry', 'torn', 'mark slot'),
  body: fc.uint8Array({ minLength: 30, maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
})

test('after marking, a replay reads every whole entry, in order, and nothing else', () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), fc.nat(40), (parts, tornBytes) => {
      const segment = segmentOf(parts, tornBytes)
      const whole = parts.filter(({ kind }) => kind === 'entry').map(({ body }) => body)
      const tail = markTail(segment)
      expect(tail?.writeCount ?? 0).toBe(whole.length)
      expect(replay(segment)).toEqual(whole.map((body) => body.toString('hex')))
    }),
  )
})

test('a segment that has been made whole is left as it is', () => {
  const body = Buffer.alloc(40, 1)
  const segment = segmentOf([{ kind: 'entry', body }], 0)
  expect(markTail(segment)).not.toBeNull()
  const before = Buffer.from(segment)
  expect(markTail(segment)).toBeNull()
  expect(segment.equals(before)).toBe(true)
})

test('a segment of another version, compressed, empty or cut short is left alone', () => {
  const segment = segmentOf([{ kind: 'entry', body: Buffer.alloc(40, 1) }], 0)
  const otherVersion = Buffer.from(segment)
  otherVersion.writeInt32BE(7, 0)
  const compressed = Buffer.from(segment)
  compressed.write('[]', 14)
  for (const other of [
    otherVersion,
    compressed,
    Buffer.alloc(SEGMENT_BYTES),
    segment.subarray(0, 9),
  ])
    expect(markTail(other)).toBeNull()
})

function segmentOf(parts: readonly Part[], tornBytes: number): Buffer {
  const segment = Buffer.alloc(SEGMENT_BYTES)
  segment.writeInt32BE(8, 0)
  segment.writeBigInt64BE(SEGMENT_ID, 4)
  segment.writeUInt16BE(2, 12)
  segment.write('{}', 14)
  let offset = HEADER_BYTES + MARK_BYTES
  for (const { kind, body } of withoutAdjacentSlots(parts)) {
    if (kind === 'mark slot') {
      offset += MARK_BYTES
      continue
    }
    const entry = entryOf(body)
    // Torn: its writer has got its place, and has written no more than the beginning.
    entry.copy(segment, offset, 0, kind === 'entry' ? entry.length : Math.min(20, entry.length))
    offset += entry.length
  }
  segment.fill(0x55, offset, offset + tornBytes)
  return segment
}

// A second place for a mark is only taken after the first has been written.
function withoutAdjacentSlots(parts: readonly Part[]): readonly Part[] {
  let hasSlot = false
  return parts.filter(({ kind }) => {
    if (kind !== 'mark slot') return true
    const isFirst = !hasSlot
    hasSlot = true
    return isFirst
  })
}

function entryOf(body: Buffer): Buffer {
  const entry = Buffer.alloc(body.length + 12)
  entry.writeInt32BE(body.length, 0)
  entry.writeUInt32BE(crc32(entry.subarray(0, 4)), 4)
  body.copy(entry, 8)
  entry.writeUInt32BE(crc32(Buffer.concat([entry.subarray(0, 4), body])), body.length + 8)
  return entry
}

/** Returns the mutations of a segment; throws where Cassandra would refuse to start. */
function replay(segment: Buffer): string[] {
  const mutations: string[] = []
  let mark = HEADER_BYTES
  for (;;) {
    const end = segment.readInt32BE(mark)
    const crc = segment.readUInt32BE(mark + 4)
    if (end === 0 && crc === 0) return mutations
    expect(crc).toBe(markCrc(mark))
    for (let offset = mark + MARK_BYTES; offset < end;) {
      const size = segment.readInt32BE(offset)
      const body = segment.subarray(offset + 8, offset + 8 + size)
      expect(segment.subarray(offset, offset + size + 12).equals(entryOf(body))).toBe(true)
      if (!isOfNoTable(body)) mutations.push(body.toString('hex'))
      offset += size + 12
    }
    mark = end
  }
}

function markCrc(mark: number): number {
  const covered = Buffer.alloc(12)
  covered.writeUInt32BE(Number(SEGMENT_ID & 0xffff_ffffn), 0)
  covered.writeUInt32BE(Number(SEGMENT_ID >> 32n), 4)
  covered.writeUInt32BE(mark, 8)
  return crc32(covered)
}

function isOfNoTable(body: Buffer): boolean {
  return body.toString('hex', 0, 17) === '01f0f1f2f3f4f541f6b7f8f9fafbfcfdfe'
}
