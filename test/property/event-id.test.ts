import fc from 'fast-check'
import { v5, parse } from 'uuid'
import { describe, expect, test } from 'vitest'
import { EVENT_NAMESPACE, eventIdOf } from '../../src/event/event-id.ts'

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
  test('is the UUIDv5 of its parts', () => {
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
    expect(eventIdOf(event).toString('hex')).toBe('1bfdf9e3b6b35e748bb9304b4af49981')
  })

  test('leaves alone the ids made before', () => {
    const event = { projectId: 'shop', userId: '4711', eventName: 'page_view', sentId: 'e-1' }
    const first = eventIdOf(event)
    const kept = Buffer.from(first)
    for (let index = 0; index < 1_000; index++) eventIdOf({ ...event, sentId: `e-${index}` })
    expect(first.equals(kept)).toBe(true)
  })
})
