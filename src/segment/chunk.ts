import { crc32 } from 'node:zlib'

/** The most that one chunk carries, without its checksum: 40,960 rows of time and user. */
export const CHUNK_BYTES_MAX = 245_760
const CHECKSUM_BYTES = 4

/** Returns a chunk as it is stored: its bytes, then their CRC-32, little-endian. */
export function sealChunk(bytes: Uint8Array): Buffer {
  const chunk = Buffer.allocUnsafe(bytes.length + CHECKSUM_BYTES)
  chunk.set(bytes)
  chunk.writeUInt32LE(crc32(bytes), bytes.length)
  return chunk
}

/** Returns what `sealChunk` was given, without copying. Throws an Error for damaged bytes. */
export function openChunk(chunk: Buffer): Buffer {
  const size = chunk.length - CHECKSUM_BYTES
  if (size < 0) throw new Error('cut short')
  const bytes = chunk.subarray(0, size)
  if (chunk.readUInt32LE(size) !== crc32(bytes)) throw new Error('checksum differs')
  return bytes
}

/** Cuts a stream into chunks of at most `bytesMax`; none for an empty one. */
export function cutChunks(stream: Uint8Array, bytesMax = CHUNK_BYTES_MAX): Uint8Array[] {
  const chunks: Uint8Array[] = []
  for (let start = 0; start < stream.length; start += bytesMax)
    chunks.push(stream.subarray(start, start + bytesMax))
  return chunks
}
