import { crc32 } from 'node:zlib'
import type { Event } from '../event/event.ts'

/** The most that a block may take; a group commit is closed before it would be exceeded. */
export const BLOCK_BYTES_MAX = 262_144

// version, checksum of what follows it, event count
const HEADER_BYTES = 9
const VERSION = 1
const ABSENT = 0xffff_ffff
const EVENT_ID_BYTES = 16
const FIXED_BYTES = 8 + 8 + EVENT_ID_BYTES + 6 * 4

const TEXTS = [
  (event: Event) => event.eventName,
  (event: Event) => event.userId,
  (event: Event) => event.anonymousId,
  (event: Event) => event.sessionId,
  (event: Event) => event.sentId,
  (event: Event) => event.properties,
]

/** Returns an upper bound of what one event adds to a block, in bytes. */
export function blockBytesOf(event: Event): number {
  let bytes = FIXED_BYTES
  for (const text of TEXTS) bytes += Buffer.byteLength(text(event) ?? '')
  return bytes
}

/**
 * Writes events as one columnar block, in their order: a header, then event times, arrival times, event
 * ids, and six text columns. A text column is the lengths of its texts in UTF-16 units, then all texts
 * as one run of UTF-8, so that both ways are one conversion a column. Little-endian.
 */
export function encodeBlock(events: readonly Event[]): Buffer {
  const columns = [
    Buffer.from(Float64Array.from(events, (event) => event.eventTimeMs).buffer),
    Buffer.from(Float64Array.from(events, (event) => event.receivedAtMs).buffer),
    Buffer.concat(events.map((event) => event.eventId)),
    ...TEXTS.flatMap((textOf) => encodeTexts(events.map(textOf))),
  ]
  const block = Buffer.concat([Buffer.alloc(HEADER_BYTES), ...columns])
  block.writeUInt8(VERSION, 0)
  block.writeUInt32LE(events.length, 5)
  block.writeUInt32LE(crc32(block.subarray(5)), 1)
  return block
}

function encodeTexts(texts: readonly (string | null)[]): Buffer[] {
  const lengths = Uint32Array.from(texts, (text) => (text === null ? ABSENT : text.length))
  const run = Buffer.from(texts.join(''), 'utf8')
  const size = Buffer.allocUnsafe(4)
  size.writeUInt32LE(run.length)
  return [Buffer.from(lengths.buffer), size, run]
}

/** What segments are made of, by column: row i of each is one event. */
export interface BlockColumns {
  readonly eventCount: number
  /** 16 bytes an event. */
  readonly eventIds: Buffer
  readonly eventTimeMs: Float64Array
  readonly receivedAtMs: Float64Array
  readonly eventNames: readonly string[]
  readonly userIds: readonly string[]
  readonly sessionIds: readonly (string | null)[]
  /** JSON texts. */
  readonly properties: readonly string[]
}

/** Reads what `encodeBlock` wrote. Throws an Error for any other bytes, damaged ones included. */
export function decodeBlock(block: Buffer): Event[] {
  const { count, reader } = openBlock(block)
  const times = reader.bytes(8 * count)
  const arrivals = reader.bytes(8 * count)
  const ids = reader.bytes(EVENT_ID_BYTES * count)
  const [names, users, anonymous, sessions, sent, properties] = TEXTS.map(() => reader.texts(count))
  return Array.from({ length: count }, (_, index) => ({
    eventId: ids.subarray(EVENT_ID_BYTES * index, EVENT_ID_BYTES * (index + 1)),
    sentId: sent![index]!,
    eventName: names![index]!,
    userId: users![index]!,
    anonymousId: anonymous![index]!,
    sessionId: sessions![index]!,
    eventTimeMs: times.readDoubleLE(8 * index),
    receivedAtMs: arrivals.readDoubleLE(8 * index),
    properties: properties![index]!,
  })) as Event[]
}

/** The same, of the columns that segments are made of. */
export function decodeBlockColumns(block: Buffer): BlockColumns {
  const { count, reader } = openBlock(block)
  const times = new Uint8Array(reader.bytes(8 * count))
  const arrivals = new Uint8Array(reader.bytes(8 * count))
  const eventIds = reader.bytes(EVENT_ID_BYTES * count)
  const eventNames = reader.texts(count)
  const userIds = reader.texts(count)
  // Anonymous ids, and after the session ids those that were sent.
  reader.skipTexts(count)
  const sessionIds = reader.texts(count)
  reader.skipTexts(count)
  const properties = reader.texts(count)
  return {
    ...{ eventCount: count, eventIds },
    eventTimeMs: new Float64Array(times.buffer),
    receivedAtMs: new Float64Array(arrivals.buffer),
    eventNames: eventNames as string[],
    userIds: userIds as string[],
    sessionIds,
    properties: properties as string[],
  }
}

function openBlock(block: Buffer) {
  if (block.length < HEADER_BYTES) throw new Error('block: cut short')
  if (block.readUInt8(0) !== VERSION) throw new Error(`block: version ${block.readUInt8(0)}`)
  if (block.readUInt32LE(1) !== crc32(block.subarray(5))) throw new Error('block: checksum differs')
  return { count: block.readUInt32LE(5), reader: openReader(block, HEADER_BYTES) }
}

function openReader(block: Buffer, start: number) {
  let at = start
  function bytes(size: number): Buffer {
    if (at + size > block.length) throw new Error('block: cut short')
    at += size
    return block.subarray(at - size, at)
  }
  return {
    bytes,
    skipTexts(count: number): void {
      bytes(4 * count)
      bytes(bytes(4).readUInt32LE())
    },
    texts(count: number): (string | null)[] {
      const lengths = bytes(4 * count)
      const run = bytes(bytes(4).readUInt32LE()).toString('utf8')
      let from = 0
      return Array.from({ length: count }, (_, index) => {
        const length = lengths.readUInt32LE(4 * index)
        if (length === ABSENT) return null
        from += length
        return run.slice(from - length, from)
      })
    },
  }
}
