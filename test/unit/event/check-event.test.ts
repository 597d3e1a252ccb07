import { describe, expect, test } from 'vitest'
import { checkEvent, isRejection } from '../../../src/event/check-event.ts'
import type { Event, Rejection } from '../../../src/event/event.ts'
import { eventIdOf } from '../../../src/event/event-id.ts'
import { parseExactJson } from '../../../src/event/exact-json.ts'

const NOW_MS = Date.UTC(2026, 10, 30, 12)
const DAY_MS = 86_400_000
const RETENTION_DAYS = 400

const GOOD = { id: 'e1', event: 'page_view', userId: 'ada', time: NOW_MS, properties: { a: 1 } }

/** Checks an event as it comes in a request: from JSON text. */
function check(json: string): Event | Rejection {
  const { value, stringify } = parseExactJson(json)
  return checkEvent(value, {
    ...{ projectId: 'shop', retentionDays: RETENTION_DAYS, receivedAtMs: NOW_MS },
    stringify,
  })
}
const checkPart = (part: Record<string, unknown>) => check(JSON.stringify({ ...GOOD, ...part }))

function taken(part: Record<string, unknown>): Event {
  const outcome = checkPart(part)
  if (isRejection(outcome)) throw new Error(`${outcome.code}: ${outcome.message}`)
  return outcome
}
function refused(part: Record<string, unknown>): Rejection {
  const outcome = checkPart(part)
  if (!isRejection(outcome)) throw new Error('it was taken')
  return outcome
}
const invalid = (message: string | RegExp) => ({
  code: 'INVALID_EVENT',
  message: expect.stringMatching(message) as string,
})

describe('an event', () => {
  test('is taken as it was sent', () => {
    const part = { anonymousId: 'cookie', sessionId: 's', time: '2026-11-30T11:59:59.123+00:00' }
    const sent = { projectId: 'shop', userId: 'ada', eventName: 'page_view', sentId: 'e1' }
    expect(taken(part)).toEqual({
      eventId: eventIdOf(sent),
      sentId: 'e1',
      eventName: 'page_view',
      userId: 'ada',
      anonymousId: 'cookie',
      sessionId: 's',
      eventTimeMs: NOW_MS - 877,
      receivedAtMs: NOW_MS,
      properties: '{"a":1}',
    })
  })

  test.each(['null', '1', '"x"', 'true', '[]', '[{"event":"a","userId":"b"}]'])(
    'is an object, which %s is not',
    (json) => {
      expect(check(json)).toEqual(invalid('a JSON object'))
    },
  )

  test('may have fields that nobody knows', () => {
    expect(taken({ colour: 'red', context: { page: 1 } }).properties).toBe('{"a":1}')
  })

  test('may do without what is not required', () => {
    const event = checkEvent(
      { event: 'a', anonymousId: 'x' },
      { projectId: 'p', retentionDays: 1, receivedAtMs: NOW_MS, stringify: JSON.stringify },
    )
    expect(event).toMatchObject({
      ...{ userId: 'anon:x', anonymousId: 'x', sentId: null, sessionId: null },
      ...{ eventTimeMs: NOW_MS, properties: '{}' },
    })
  })

  test('of no id is another each time that it is sent', () => {
    const [one, other] = [taken({ id: undefined }), taken({ id: null })]
    expect(one.sentId).toBeNull()
    expect(one.eventId.equals(other.eventId)).toBe(false)
    expect(one.eventId).toHaveLength(16)
  })
})

describe('an event name', () => {
  test.each([undefined, null, '', 1, true, {}, ['a']])('is a text, which %j is not', (event) => {
    expect(refused({ event })).toEqual(invalid('^event: a non-empty string'))
  })

  test('has up to 200 characters', () => {
    expect(taken({ event: 'é'.repeat(200) }).eventName).toHaveLength(200)
    expect(refused({ event: 'a'.repeat(201) })).toEqual(invalid('^event: at most 200'))
  })

  test('has no half of a surrogate pair, and may have a NUL', () => {
    expect(refused({ event: 'a\ud800' })).toEqual(invalid('^event: half'))
    expect(refused({ event: '\udc00a' })).toEqual(invalid('^event: half'))
    expect(taken({ event: '😀' }).eventName).toBe('😀')
    expect(taken({ event: 'a\0b' }).eventName).toBe('a\0b')
  })
})

describe.each(['userId', 'anonymousId', 'sessionId', 'id'])('%s', (field) => {
  const valueOf = (event: Event) =>
    event[field === 'id' ? 'sentId' : (field as 'userId' | 'anonymousId' | 'sessionId')]

  test.each([
    ['x', 'x'],
    ['0', '0'],
    ['007', '007'],
    [' ', ' '],
    ['a\0b', 'a\0b'],
    ['😀', '😀'],
    [0, '0'],
    [-0, '0'],
    [4711, '4711'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    ['99999999999999999999', '99999999999999999999'],
  ])('of %j is taken', (sent, kept) => {
    expect(valueOf(taken({ [field]: sent }))).toBe(kept)
  })

  test.each(['', -1, 1.5, 2 ** 53, 1e300, true, {}, [], ['x']])('of %j is refused', (sent) => {
    expect(refused({ [field]: sent })).toEqual(invalid(`^${field}: a non-empty string, or an`))
  })

  test('of digits that a double does not keep is refused', () => {
    for (const digits of ['9007199254740993', '12345678901234567890', '1e999', '0.1e-400']) {
      const json = JSON.stringify({ ...GOOD, [field]: '@' }).replace('"@"', digits)
      expect(check(json)).toEqual(invalid(`^${field}: a non-empty string, or an`))
    }
  })

  test('has up to 256 bytes', () => {
    expect(valueOf(taken({ [field]: 'é'.repeat(128) }))).toBe('é'.repeat(128))
    expect(refused({ [field]: 'é'.repeat(128) + 'a' })).toEqual(invalid(`^${field}: at most 256`))
    expect(refused({ [field]: 'a'.repeat(257) })).toEqual(invalid(`^${field}: at most 256`))
  })

  test('has no half of a surrogate pair', () => {
    expect(refused({ [field]: 'x\udfff' })).toEqual(invalid(`^${field}: half`))
  })
})

test('an event needs a user id or an anonymous id', () => {
  expect(refused({ userId: null })).toEqual(invalid('one of userId and anonymousId'))
  expect(refused({ userId: undefined })).toEqual(invalid('one of userId and anonymousId'))
})

describe('a time', () => {
  const oldestMs = NOW_MS - RETENTION_DAYS * DAY_MS

  test.each([
    [undefined, NOW_MS],
    [null, NOW_MS],
    [NOW_MS - 1, NOW_MS - 1],
    ['2026-11-30T11:00:00Z', NOW_MS - 3_600_000],
    ['2026-11-30T13:00:00+02:00', NOW_MS - 3_600_000],
    [NOW_MS + DAY_MS, NOW_MS + DAY_MS],
    [oldestMs, oldestMs],
  ])('of %j is taken', (time, eventTimeMs) => {
    expect(taken({ time }).eventTimeMs).toBe(eventTimeMs)
  })

  test.each(['', 'now', '2026-11-30', '2026-11-30T11:00:00', `${NOW_MS}`, 1.5, true, {}, []])(
    'of %j is none',
    (time) => {
      expect(refused({ time })).toEqual(invalid('^time: ISO 8601 with a zone'))
    },
  )

  test('of more digits than a double keeps is none', () => {
    const json = JSON.stringify({ ...GOOD, time: '@' }).replace('"@"', '12345678901234567890')
    expect(check(json)).toEqual(invalid('^time: '))
  })

  test('lies at most 24 hours ahead', () => {
    expect(refused({ time: NOW_MS + DAY_MS + 1 }).code).toBe('TIME_OUT_OF_RANGE')
    expect(refused({ time: Number.MAX_SAFE_INTEGER }).code).toBe('TIME_OUT_OF_RANGE')
  })

  test('of a project that keeps one day may be almost a day old', () => {
    const context = { projectId: 'p', retentionDays: 1, receivedAtMs: NOW_MS }
    const event = (time: number) =>
      checkEvent({ event: 'a', userId: 1, time }, { ...context, stringify: JSON.stringify })
    expect(event(NOW_MS - DAY_MS)).toMatchObject({ eventTimeMs: NOW_MS - DAY_MS })
    expect(event(NOW_MS - DAY_MS - 1)).toMatchObject({ code: 'TIME_OUT_OF_RANGE' })
  })

  test('lies within the retention', () => {
    expect(refused({ time: oldestMs - 1 }).code).toBe('TIME_OUT_OF_RANGE')
    expect(refused({ time: -1 }).code).toBe('TIME_OUT_OF_RANGE')
    expect(refused({ time: '0001-01-01T00:00:00Z' }).code).toBe('TIME_OUT_OF_RANGE')
  })
})

describe('properties', () => {
  const keys = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]))
  const nested = (depth: number): unknown =>
    JSON.parse('{"a":'.repeat(depth) + '1' + '}'.repeat(depth))

  test.each([undefined, null, {}])('of %j are none', (properties) => {
    expect(taken({ properties }).properties).toBe('{}')
  })

  test.each([1, 'x', true, []])('are an object, which %j is not', (properties) => {
    expect(refused({ properties })).toEqual(invalid('^properties: a JSON object'))
  })

  test('are no number, of however many digits', () => {
    const json = '{"event":"a","userId":"b","properties":12345678901234567890}'
    expect(check(json)).toEqual(invalid('^properties: a JSON object'))
    expect(check('[12345678901234567890]')).toEqual(invalid('a JSON object'))
  })

  test('of many digits are no level of their own', () => {
    const json = JSON.stringify({ ...GOOD, properties: nested(32) })
    expect(check(json.replace('"a":1}', '"a":12345678901234567890}'))).toHaveProperty('eventId')
  })

  test('are up to 256, nested ones counted', () => {
    expect(JSON.parse(taken({ properties: keys(256) }).properties)).toEqual(keys(256))
    expect(refused({ properties: keys(257) })).toEqual(invalid('at most 256'))
    expect(taken({ properties: { deep: keys(255) } }).eventName).toBe('page_view')
    expect(refused({ properties: { deep: keys(256) } })).toEqual(invalid('at most 256'))
  })

  test('have up to 32 levels, of arrays too', () => {
    expect(taken({ properties: nested(32) }).eventName).toBe('page_view')
    expect(refused({ properties: nested(33) })).toEqual(invalid('at most 32 levels'))
    const arrays = (depth: number) => ({
      a: JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as unknown,
    })
    expect(taken({ properties: arrays(31) }).eventName).toBe('page_view')
    expect(refused({ properties: arrays(32) })).toEqual(invalid('at most 32 levels'))
  })

  test('nested deeper than a stack are refused, not thrown at', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000)
    for (const number of ['1', '12345678901234567890']) {
      const json = `{"event":"a","userId":"b","properties":{"big":${number},"deep":${deep}}}`
      expect(check(json)).toEqual(invalid('at most 32 levels'))
    }
  })

  test('keep what only looks dangerous', () => {
    const json = '{"__proto__":{"x":1},"constructor":1,"nul":"\\u0000","half":"\\ud800","n":null}'
    const event = check(`{"event":"a","userId":"b","properties":${json}}`) as Event
    expect(event.properties).toBe(json)
    expect(event.properties.isWellFormed()).toBe(true)
  })

  test('keep the digits of their numbers', () => {
    const json = '{"id":12345678901234567890,"list":[1e999,-0.1234567890123456789],"x":1.50}'
    const event = check(`{"event":"a","userId":"b","properties":${json}}`) as Event
    expect(event.properties).toBe(json.replace('1.50', '1.5'))
  })

  test('make an event too large beyond 64 KiB', () => {
    const room = 65_536 - 3 * 'page_view'.length - 3 * 256 - '{"a":""}'.length
    expect(taken({ properties: { a: 'x'.repeat(room) } }).properties).toHaveLength(room + 8)
    expect(refused({ properties: { a: 'x'.repeat(room + 1) } }).code).toBe('EVENT_TOO_LARGE')
    expect(refused({ properties: { a: 'é'.repeat(33_000) } }).code).toBe('EVENT_TOO_LARGE')
  })
})
