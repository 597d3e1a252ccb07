import { expect, test } from 'vitest'
import { decodeBlock, encodeBlock } from '../../../src/segment/block.ts'
import { anEvent } from '../../support/an-event.ts'

// Blocks lie in Cassandra for days: those that an older version wrote must be read for ever.
const BLOCK_OF_VERSION_1 = [
  'AcFNJ+gCAAAAALBnJUqteUIAAAAAAADwvwCAniVKrXlCAICeJUqteUKbpBiQak5ZuaJfaCJuRZcmMmfP66DiV6yMZ9',
  '0SCpaWvgkAAAAJAAAAEgAAAHBhZ2Vfdmlld3BhZ2VfdmlldwQAAAAGAAAACgAAADQ3MTFhbm9uOnj/////AQAAAAEA',
  'AAB4/////wAAAAAAAAAAAwAAAAMAAAAGAAAAZS0xZS0yDwAAAAIAAAAUAAAAeyJwYXRoIjoiL8Op8J+YgCJ9e30=',
].join('')

const EVENTS = [
  anEvent({
    ...{ sentId: 'e-1', userId: '4711', eventTimeMs: 1_764_504_000_123 },
    ...{ receivedAtMs: 1_764_504_001_000, properties: '{"path":"/é😀"}' },
  }),
  anEvent({
    ...{ sentId: 'e-2', userId: 'anon:x', anonymousId: 'x', sessionId: '' },
    ...{ eventTimeMs: -1, receivedAtMs: 1_764_504_001_000, properties: '{}' },
  }),
]

test('a block of version 1 is read as it was written', () => {
  expect(decodeBlock(Buffer.from(BLOCK_OF_VERSION_1, 'base64'))).toEqual(EVENTS)
})

test('a block is written as version 1', () => {
  expect(encodeBlock(EVENTS).toString('base64')).toBe(BLOCK_OF_VERSION_1)
})

test('a block of no events is one', () => {
  expect(decodeBlock(encodeBlock([]))).toEqual([])
})

test('a block of a version to come is an error', () => {
  const block = encodeBlock(EVENTS)
  block[0] = 2
  expect(() => decodeBlock(block)).toThrow('block: version 2')
})
