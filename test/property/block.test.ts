import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Event } from '../../src/event/event.ts'
import {
  blockBytesOf,
  decodeBlock,
  decodeBlockColumns,
  encodeBlock,
} from '../../src/segment/block.ts'

const HEADER_BYTES_MAX = 64

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constant('😀\0é'))
const absent = fc.option(text, { nil: null })
const event: fc.Arbitrary<Event> = fc.record({
  eventId: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes)),
  sentId: absent,
  eventName: text,
  userId: text,
  anonymousId: absent,
  sessionId: absent,
  eventTimeMs: fc.integer({ min: -8.64e15, max: 8.64e15 }),
  receivedAtMs: fc.maxSafeNat(),
  properties: fc.json(),
})
const events = fc.array(event, { maxLength: 40 })

describe('a block', () => {
  test('gives back the events that it was made of', () => {
    fc.assert(
      fc.property(events, (given) => {
        expect(decodeBlock(encodeBlock(given))).toEqual(given)
      }),
    )
  })

  test('gives back the same by column', () => {
    fc.assert(
      fc.property(events, (given) => {
        const { eventIds, eventTimeMs, receivedAtMs, ...columns } = decodeBlockColumns(
          encodeBlock(given),
        )
        expect(Buffer.compare(eventIds, Buffer.concat(given.map((one) => one.eventId)))).toBe(0)
        expect([...eventTimeMs]).toEqual(given.map((one) => one.eventTimeMs))
        expect([...receivedAtMs]).toEqual(given.map((one) => one.receivedAtMs))
        expect(columns).toEqual({
          eventCount: given.length,
          eventNames: given.map((one) => one.eventName),
          userIds: given.map((one) => one.userId),
          sessionIds: given.map((one) => one.sessionId),
          properties: given.map((one) => one.properties),
        })
      }),
    )
  })

  test('tells an empty text from none', () => {
    const [given] = fc.sample(event, 1)
    const texts = { sentId: '', anonymousId: null, sessionId: '', properties: '{}' }
    const [read] = decodeBlock(encodeBlock([{ ...given!, ...texts }]))
    expect(read).toMatchObject(texts)
  })

  test('is no larger than its events said', () => {
    fc.assert(
      fc.property(events, (given) => {
        const bytes = given.reduce((sum, one) => sum + blockBytesOf(one), HEADER_BYTES_MAX)
        expect(encodeBlock(given).length).toBeLessThanOrEqual(bytes)
      }),
    )
  })

  test('cut short anywhere is an error', () => {
    const block = encodeBlock(fc.sample(event, 3))
    for (let length = 0; length < block.length; length++)
      expect(() => decodeBlock(block.subarray(0, length))).toThrow(/^block: /)
  })

  test('with a byte too many is an error', () => {
    const block = encodeBlock(fc.sample(event, 3))
    expect(() => decodeBlock(Buffer.concat([block, Buffer.of(0)]))).toThrow(/^block: /)
  })

  test('with any byte changed is an error', () => {
    const block = encodeBlock(fc.sample(event, 2))
    for (let index = 0; index < block.length; index++)
      for (const flip of [0x01, 0x80, 0xff]) {
        const damaged = Buffer.from(block)
        damaged[index]! ^= flip
        expect(() => decodeBlock(damaged)).toThrow(/^block: /)
      }
  })

  test('of other bytes is an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(() => decodeBlock(Buffer.from(bytes))).toThrow(/^block: /)
      }),
    )
  })
})
