import { describe, expect, test } from 'vitest'
import { AppError } from '../../../src/error.ts'
import { EVENTS_PER_REQUEST_MAX, parseEventBatch } from '../../../src/wire/event-batch.ts'

const EVENT = { event: 'page_view', userId: 'ada' }
const parse = (body: unknown) => parseEventBatch(Buffer.from(JSON.stringify(body))).events

function codeOf(body: Buffer | string): string {
  try {
    parseEventBatch(Buffer.from(body as string))
  } catch (error) {
    if (error instanceof AppError) return error.code
    throw error
  }
  return 'none'
}

describe('a body', () => {
  test('is an event, an array of them, or an object that holds one', () => {
    expect(parse(EVENT)).toEqual([EVENT])
    expect(parse([EVENT, EVENT])).toEqual([EVENT, EVENT])
    expect(parse({ events: [EVENT] })).toEqual([EVENT])
    expect(parse([])).toEqual([])
    expect(parse({ events: [] })).toEqual([])
  })

  test('that has both an event and events is one event', () => {
    expect(parse({ ...EVENT, events: [1] })).toEqual([{ ...EVENT, events: [1] }])
  })

  test('may hold what is no event: that is told event by event', () => {
    expect(parse([1, null, 'x', [], EVENT])).toEqual([1, null, 'x', [], EVENT])
    expect(parse({})).toEqual([{}])
  })

  test.each(['', ' ', '{', 'null', '1', '"x"', 'true', '[1,]', '{"events":1}', '{"events":null}'])(
    'of %j is refused',
    (body) => {
      expect(codeOf(body)).toBe('INVALID_REQUEST')
    },
  )

  test('that is not UTF-8 is refused', () => {
    expect(codeOf(Buffer.of(0x22, 0xff, 0x22))).toBe('INVALID_REQUEST')
    expect(codeOf(Buffer.from(JSON.stringify(EVENT), 'utf16le'))).toBe('INVALID_REQUEST')
  })

  test('may begin with a byte order mark', () => {
    const body = Buffer.from(`\ufeff${JSON.stringify(EVENT)}`)
    expect(parseEventBatch(body).events).toEqual([EVENT])
  })

  test('holds up to 1,000 events', () => {
    const events = Array.from({ length: EVENTS_PER_REQUEST_MAX }, () => EVENT)
    expect(parse(events)).toHaveLength(1_000)
    expect(codeOf(JSON.stringify([...events, EVENT]))).toBe('TOO_MANY_EVENTS')
    expect(codeOf(JSON.stringify({ events: [...events, EVENT] }))).toBe('TOO_MANY_EVENTS')
  })

  test('writes its parts back with the digits that they came with', () => {
    const body = '{"event":"a","properties":{"big":12345678901234567890}}'
    const { events, stringify } = parseEventBatch(Buffer.from(body))
    expect(stringify(events[0])).toBe(body)
  })
})
