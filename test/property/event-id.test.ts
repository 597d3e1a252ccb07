import fc from 'fast-check'
import { parse, v5, validate } from 'uuid'
import { describe, expect, test } from 'vitest'
import {
  EVENT_NAMESPACE,
  eventIdOf,
  heldSentId,
  isHeldSentId,
  uuidText,
} from '../../src/event/event-id.ts'

const text = fc.string({ unit: 'grapheme', maxLength: 64 })
const identity = fc.record({ projectId: text, userId: text, eventName: text, sentId: text })

/** The name bytes as the definition has them: length and text of three, then the sender's id. */
function nameOf({ projectId, userId, eventName, sentId }: Parameters<typeof eventIdOf>[0]) {
  const withLength = (part: string) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(Buffer.byteLength(part))
    return [length, Buffer.from(part)]
  }
  const parts = [projectId, userId, eventName].flatMap(withLength)
  return Buffer.concat([...parts, Buffer.from(sentId)])
}

describe('an event id', () => {
  test('holds the sender’s UUID, and is one of its version', () => {
    fc.assert(
      fc.property(identity, fc.uuid(), (owner, sentId) => {
        const eventId = eventIdOf({ ...owner, sentId })
        expect(heldSentId({ ...owner, eventId })).toBe(sentId)
        expect(uuidText(eventId)[14]).toBe(sentId[14])
        expect(validate(uuidText(eventId))).toBe(true)
      }),
    )
  })

  test('of a UUID is another for another owner, whose digest is laid over it', () => {
    const sentId = '0b9f9f9e-0d5c-4d43-9d8c-0d6f4f0f1a11'
    fc.assert(
      fc.property(identity, identity, (one, other) => {
        fc.pre(!nameOf({ ...one, sentId }).equals(nameOf({ ...other, sentId })))
        expect(eventIdOf({ ...one, sentId })).not.toEqual(eventIdOf({ ...other, sentId }))
      }),
    )
    const owner = { projectId: 'shop', userId: '4711', eventName: 'page_view' }
    const digest = parse(v5(nameOf({ ...owner, sentId: '' }), Uint8Array.from(EVENT_NAMESPACE)))
    const sent = parse(sentId)
    const expected = sent.map((byte, at) => {
      const mask = at === 6 ? 0x0f : at === 8 ? 0x3f : 0xff
      return byte ^ (digest[at]! & mask)
    })
    expect([...eventIdOf({ ...owner, sentId })]).toEqual([...expected])
  })

  test.each(['0B9F9F9E-0D5C-4D43-9D8C-0D6F4F0F1A11', '0b9f9f9e0d5c4d439d8c0d6f4f0f1a11', '7', ''])(
    'does not hold %j',
    (sentId) => {
      expect(isHeldSentId(sentId)).toBe(false)
    },
  )

  test('of any other id is the UUIDv5 of its parts', () => {
    fc.assert(
      fc.property(identity, (event) => {
        const expected = v5(nameOf(event), Uint8Array.from(EVENT_NAMESPACE))
        expect([...eventIdOf(event)]).toEqual([...parse(expected)])
      }),
    )
  })

  test('is another where only the border of two parts is another', () => {
    const ids = [
      { projectId: 'ab', userId: 'c', eventName: 'd', sentId: 'e' },
      { projectId: 'a', userId: 'bc', eventName: 'd', sentId: 'e' },
      { projectId: 'ab', userId: '', eventName: 'cd', sentId: 'e' },
      { projectId: 'ab', userId: 'c', eventName: '', sentId: 'de' },
      { projectId: 'ab', userId: 'c', eventName: 'de', sentId: '' },
    ].map((event) => eventIdOf(event).toString('hex'))
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('never changes', () => {
    const event = { projectId: 'shop', userId: '4711', eventName: 'page_view', sentId: 'e-1' }
    expect(uuidText(eventIdOf(event))).toBe('1bfdf9e3-b6b3-5e74-8bb9-304b4af49981')
    const sentId = '0b9f9f9e-0d5c-4d43-9d8c-0d6f4f0f1a11'
    expect(uuidText(eventIdOf({ ...event, sentId }))).toBe('20accbcd-896a-42b5-a5db-3a5cd4ed935b')
  })

  test('leaves alone the ids made before', () => {
    const event = { projectId: 'shop', userId: '4711', eventName: 'page_view', sentId: 'e-1' }
    const first = eventIdOf(event)
    const kept = Buffer.from(first)
    for (let index = 0; index < 1_000; index++) eventIdOf({ ...event, sentId: `e-${index}` })
    expect(first.equals(kept)).toBe(true)
  })
})
