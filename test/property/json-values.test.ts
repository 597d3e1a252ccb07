import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseEventBatch } from '../../src/wire/event-batch.ts'
import { assertFewValues, VALUES_PER_BODY_MAX } from '../../src/wire/json-values.ts'

const tooMany = expect.objectContaining({ code: 'BODY_TOO_LARGE' }) as Error

describe('a body of many values', () => {
  test.each([
    ['numbers', `[${'0,'.repeat(VALUES_PER_BODY_MAX)}0]`],
    ['brackets', '['.repeat(5_000_000)],
    ['objects', `[${'{},'.repeat(VALUES_PER_BODY_MAX)}{}]`],
    ['an event that holds them', `{"event":"a","properties":{"x":[${'1e999,'.repeat(400_000)}1]}}`],
  ])('is refused before it is parsed: %s', (_, text) => {
    expect(() => parseEventBatch(Buffer.from(text))).toThrow(tooMany)
  })

  test('is not one of commas and brackets within strings', () => {
    const text = JSON.stringify({
      event: 'a',
      userId: 1,
      properties: { x: ',[{\\"'.repeat(500_000) },
    })
    expect(parseEventBatch(Buffer.from(text)).events).toHaveLength(1)
  })

  test('of too many events is refused for that, whatever numbers it holds', () => {
    const text = `[${'1e999,'.repeat(200_000)}1]`
    const expected = expect.objectContaining({ code: 'TOO_MANY_EVENTS' }) as Error
    expect(() => parseEventBatch(Buffer.from(text))).toThrow(expected)
  })

  test('is nothing that any right body is', () => {
    fc.assert(
      fc.property(fc.array(fc.json(), { maxLength: 20 }), (documents) => {
        const padding = `"${' '.repeat(70_000)}"`
        assertFewValues(Buffer.from(`[${[...documents, padding].join()}]`))
      }),
    )
  })

  test('may be no JSON at all', () => {
    for (const bytes of [
      Buffer.alloc(100_000, '"'),
      Buffer.alloc(100_000, '\\'),
      Buffer.alloc(100_000, ']'),
    ])
      assertFewValues(bytes)
  })
})
