import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  csvEventMaker,
  jsonEventMaker,
  parseMapping,
  type EventMakerOptions,
} from '../../../src/cli/import/mapping.ts'

const contentHash = createHash('sha256').update('a file').digest()
const options: EventMakerOptions = {
  ...{ mapping: {}, eventName: undefined, timeZone: 'UTC', contentHash },
}
const TIME = 1_710_325_274_000

const record = (text: string, line = 2) => ({
  ...{ line, nextLine: line + 1, fault: null },
  bytes: Buffer.from(text),
})

function fromCsv(header: string, row: string, changed: Partial<EventMakerOptions> = {}) {
  const made = csvEventMaker({ ...options, ...changed }, header.split(','), ',')(record(row))
  return 'json' in made ? (JSON.parse(made.json) as Record<string, unknown>) : made.reason
}

function fromJson(text: string, changed: Partial<EventMakerOptions> = {}) {
  const made = jsonEventMaker({ ...options, ...changed })(record(text))
  return 'json' in made ? (JSON.parse(made.json) as Record<string, unknown>) : made.reason
}

describe('a mapping', () => {
  test('names fields by target, in one option or several', () => {
    expect(parseMapping('user=user id, time=ts=x', { user: 'other', event: 'e' })).toEqual({
      ...{ user: 'user id', time: 'ts=x', event: 'e' },
    })
  })

  test.each(['visitor=x', 'user', 'user=', '', '__proto__=x'])('%j is refused', (text) => {
    expect(() => parseMapping(text)).toThrow(/give TARGET=FIELD/)
  })
})

describe('an event of a CSV row', () => {
  const mapping = parseMapping('user=u,anonymous=a,event=e,time=t,session=s')

  test('has the mapped fields as text and the others as properties', () => {
    expect(fromCsv('u,e,t,s,plan', '007,buy,2024-03-13 10:21:14,9,pro', { mapping })).toEqual({
      id: expect.any(String) as string,
      ...{ event: 'buy', userId: '007', time: TIME, sessionId: '9', properties: { plan: 'pro' } },
    })
  })

  test('has numbers and booleans where writing them back gives the same text', () => {
    const header = 'u,e,t,p1,p2,p3,p4,p5,p6,p7'
    const row = `1,x,${TIME},9.5,-3,true,007,1e3,9007199254740993,`
    expect(fromCsv(header, row, { mapping })).toMatchObject({
      properties: { p1: 9.5, p2: -3, p3: true, p4: '007', p5: '1e3', p6: '9007199254740993' },
    })
    expect(fromCsv('u,e,t,p', `1,x,${TIME},`, { mapping })).toMatchObject({ properties: {} })
    expect(fromCsv('u,e,t,p', `1,x,${TIME},NaN`, { mapping })).toMatchObject({
      properties: { p: 'NaN' },
    })
  })

  test('takes fields that are not mapped by the names of the API', () => {
    const made = fromCsv('userId,event,time', `1,x,${TIME}`)
    expect(made).toMatchObject({ userId: '1', event: 'x', time: TIME, properties: {} })
  })

  test('needs a user, an event name and a time', () => {
    expect(fromCsv('u,a,e,t', `,,x,${TIME}`, { mapping })).toBe('no user')
    expect(fromCsv('u,a,e,t', `,anna,x,${TIME}`, { mapping })).toMatchObject({
      anonymousId: 'anna',
    })
    expect(fromCsv('u,e,t', `1,,${TIME}`, { mapping })).toBe('no event name')
    expect(fromCsv('u,t', `1,${TIME}`, { mapping, eventName: 'visit' })).toMatchObject({
      event: 'visit',
    })
    expect(fromCsv('u,e,t', '1,x,', { mapping })).toBe('no time')
    expect(fromCsv('u,e,t', '1,x,soon', { mapping })).toBe('not a time: "soon"')
  })

  test('is none where the fields are too few or too many', () => {
    expect(fromCsv('u,e,t', '1,x', { mapping })).toBe('2 fields, where the header has 3')
    expect(fromCsv('u,e,t', '1,x,2,3', { mapping })).toBe('4 fields, where the header has 3')
  })

  test('keeps a column by the name of __proto__', () => {
    const made = csvEventMaker({ ...options, mapping }, ['u', 'e', 't', '__proto__'], ',')
    expect(made(record(`1,x,${TIME},y`))).toMatchObject({
      json: expect.stringContaining('"properties":{"__proto__":"y"}') as string,
    })
  })
})

describe('an event of a line of JSON', () => {
  test('is as the API has it, with what is beside it as properties', () => {
    const line = { userId: 4711, event: 'x', time: TIME, plan: 'pro', properties: { a: { b: 1 } } }
    expect(fromJson(JSON.stringify(line))).toMatchObject({
      ...{ userId: 4711, event: 'x', time: TIME, properties: { plan: 'pro', a: { b: 1 } } },
    })
  })

  test('keeps numbers that a double cannot', () => {
    const line = `{"userId":1,"event":"x","time":${TIME},"n":12345678901234567890,"properties":{"m":1e999}}`
    expect(jsonEventMaker(options)(record(line))).toMatchObject({
      json: expect.stringContaining('{"n":12345678901234567890,"m":1e999}') as string,
    })
  })

  test('takes other names by the mapping', () => {
    const mapping = parseMapping('user=uid,event=name,time=at')
    expect(
      fromJson('{"uid":"u","name":"x","at":"2024-03-13T10:21:14Z"}', { mapping }),
    ).toMatchObject({
      ...{ userId: 'u', event: 'x', time: TIME, properties: {} },
    })
  })

  test.each([
    ['{"a":', /^not JSON/],
    ['[]', /^not a JSON object/],
    ['7', /^not a JSON object/],
    [`{"event":"x","time":${TIME}}`, /^no user/],
    ['{"userId":1,"event":"x","time":{}}', /^not a time: {}/],
    ['{"userId":1,"event":"x","time":12345678901234567890}', /^not a time: 12345678901234567890/],
  ])('%s is none, and says why', (line, reason) => {
    expect(fromJson(line)).toMatch(reason)
  })
})

describe('the id of an event', () => {
  const idOf = (line: number, hash = contentHash) => {
    const make = jsonEventMaker({ ...options, contentHash: hash })
    const made = make(record(`{"userId":1,"event":"x","time":${TIME}}`, line))
    return 'json' in made ? (JSON.parse(made.json) as { id: string }).id : null
  }

  test('is the same for the same line of the same content, for ever', () => {
    expect(idOf(2)).toBe('c3b7df39-e7d6-52f7-b56e-c292870e4546')
  })

  test('has the shape of a UUID of version 5', () => {
    expect(idOf(7)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  test('differs by line and by content', () => {
    const other = createHash('sha256').update('another file').digest()
    expect(new Set([idOf(2), idOf(3), idOf(2, other)]).size).toBe(3)
  })

  test('is the file’s own where it has one', () => {
    const line = `{"id":"e-1","userId":1,"event":"x","time":${TIME}}`
    expect(fromJson(line)).toMatchObject({ id: 'e-1' })
  })
})
