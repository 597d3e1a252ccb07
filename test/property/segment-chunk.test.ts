import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CHUNK_BYTES_MAX, cutChunks, openChunk, sealChunk } from '../../src/segment/chunk.ts'

const bytes = fc.uint8Array({ maxLength: 300 })

describe('a chunk', () => {
  test('gives back its bytes', () => {
    fc.assert(
      fc.property(bytes, (given) => {
        expect(openChunk(sealChunk(given))).toEqual(Buffer.from(given))
      }),
    )
  })

  test('takes 4 bytes more than it carries', () => {
    expect(sealChunk(new Uint8Array(CHUNK_BYTES_MAX))).toHaveLength(CHUNK_BYTES_MAX + 4)
    expect(openChunk(sealChunk(new Uint8Array(0)))).toHaveLength(0)
  })

  test('with any one byte changed in any way is an error', () => {
    const chunk = sealChunk(Buffer.from('{"a":1}'))
    for (let index = 0; index < chunk.length; index++)
      for (let flip = 1; flip < 256; flip++) {
        const damaged = Buffer.from(chunk)
        damaged[index]! ^= flip
        expect(() => openChunk(damaged)).toThrow('checksum differs')
      }
  })

  test('with a byte changed anywhere is an error', () => {
    fc.assert(
      fc.property(bytes, fc.nat(), fc.integer({ min: 1, max: 255 }), (given, at, flip) => {
        const chunk = sealChunk(given)
        chunk[at % chunk.length]! ^= flip
        expect(() => openChunk(chunk)).toThrow('checksum differs')
      }),
    )
  })

  test('cut short anywhere is an error', () => {
    const chunk = sealChunk(Buffer.from('what a chunk carries, and more of it'))
    for (let size = 0; size < chunk.length; size++)
      expect(() => openChunk(chunk.subarray(0, size))).toThrow(/^(cut short|checksum differs)$/)
  })

  test('with bytes too many is an error', () => {
    const chunk = sealChunk(Buffer.from('what a chunk carries'))
    for (let more = 1; more <= 16; more++)
      for (const fill of [0, 0x20, 0xff]) {
        const longer = Buffer.concat([chunk, Buffer.alloc(more, fill)])
        expect(() => openChunk(longer)).toThrow('checksum differs')
      }
  })
})

describe('the chunks of a stream', () => {
  test('are full but for the last, and make the stream again', () => {
    fc.assert(
      fc.property(bytes, fc.integer({ min: 1, max: 64 }), (stream, bytesMax) => {
        const chunks = cutChunks(stream, bytesMax)
        expect(Buffer.concat(chunks)).toEqual(Buffer.from(stream))
        expect(chunks).toHaveLength(Math.ceil(stream.length / bytesMax))
        for (const chunk of chunks.slice(0, -1)) expect(chunk).toHaveLength(bytesMax)
      }),
    )
  })
})
