import { hash } from 'node:crypto'
import { parse } from 'csv-parse/sync'
import { InvalidArgumentError } from 'commander'
import { parseExactJson } from '../../event/exact-json.ts'
import { openMoments } from './moment.ts'
import type { FileRecord } from './records.ts'

/** What a field of a file can be for an event, and the field of the event that it becomes. */
const FIELDS = {
  user: 'userId',
  anonymous: 'anonymousId',
  event: 'event',
  time: 'time',
  session: 'sessionId',
  id: 'id',
} as const

type Target = keyof typeof FIELDS
const TARGETS = Object.keys(FIELDS) as Target[]

/** The field of a file for each target; one that is not named is the field that the API has for it. */
export type Mapping = Readonly<Partial<Record<Target, string>>>

/** Reads `user=user_id,event=event`, on top of what an earlier `--map` said. */
export function parseMapping(text: string, earlier: Mapping = {}): Mapping {
  const pairs = text.split(',').map((pair): [string, string] => {
    const [target, field] = [/^[^=]*/.exec(pair)![0].trim(), pair.replace(/^[^=]*=?/, '').trim()]
    if (!(TARGETS as string[]).includes(target) || field === '')
      throw new InvalidArgumentError(
        `${pair}: give TARGET=FIELD, with TARGET one of ${TARGETS.join(', ')}`,
      )
    return [target, field]
  })
  return { ...earlier, ...Object.fromEntries(pairs) }
}

/** The JSON of an event, or why a record makes none. */
export type Made =
  | { readonly json: string }
  | { readonly code: 'UNREADABLE' | 'INVALID_EVENT'; readonly reason: string }

interface Parsed {
  readonly fields: ReadonlyMap<string, unknown>
  readonly propertyOf: (value: unknown) => unknown
  readonly stringify: (event: unknown) => string
}

export interface EventMakerOptions {
  readonly mapping: Mapping
  /** For files that have no field for it. */
  readonly eventName: string | undefined
  /** Meant by times that name none. */
  readonly timeZone: string
  /** SHA-256 of the file. */
  readonly contentHash: Buffer
}

/** Returns a function that makes an event of each record of an NDJSON file. */
export function jsonEventMaker(options: EventMakerOptions): (record: FileRecord) => Made {
  const make = eventMaker(options)
  return (record) => {
    if (record.fault !== null) return { code: 'UNREADABLE', reason: record.fault }
    try {
      const { value, stringify } = parseExactJson(record.bytes.toString('utf8'))
      if (typeof value !== 'object' || value === null || Array.isArray(value))
        return { code: 'UNREADABLE', reason: 'not a JSON object' }
      const fields = new Map<string, unknown>(Object.entries(value))
      return make(record.line, { fields, propertyOf: (one) => one, stringify })
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      return { code: 'UNREADABLE', reason: `not JSON: ${error.message}` }
    }
  }
}

/** The same for a CSV file with these column names. */
export function csvEventMaker(
  options: EventMakerOptions,
  columns: readonly string[],
  delimiter: string,
): (record: FileRecord) => Made {
  const make = eventMaker(options)
  return (record) => {
    if (record.fault !== null) return { code: 'UNREADABLE', reason: record.fault }
    const values = csvFields(record.bytes, delimiter)
    if (values.length !== columns.length) {
      const reason = `${values.length} fields, where the header has ${columns.length}`
      return { code: 'UNREADABLE', reason }
    }
    const fields = new Map(columns.map((column, index) => [column, values[index]]))
    return make(record.line, { fields, propertyOf: valueOfText, stringify: JSON.stringify })
  }
}

/** Takes a record of CSV apart. Its quotes must be right. */
export function csvFields(bytes: Buffer, delimiter: string): string[] {
  const text = bytes.toString('utf8').replace(/\r$/, '')
  if (!text.includes('"')) return text.split(delimiter)
  return parse(text, { delimiter, record_delimiter: '\n' })[0]!
}

/** Returns the field of each target that a file with these fields has. */
export function fieldsByTarget(mapping: Mapping, has: (field: string) => boolean): Mapping {
  const found = TARGETS.map((target) => [target, mapping[target] ?? FIELDS[target]] as const)
  return Object.fromEntries(found.filter(([, field]) => has(field)))
}

function eventMaker({ mapping, eventName, timeZone, contentHash }: EventMakerOptions) {
  const momentMs = openMoments(timeZone)

  return (line: number, { fields, propertyOf, stringify }: Parsed): Made => {
    const used = fieldsByTarget(mapping, (field) => fields.has(field))
    const valueOf = (target: Target) => {
      const field = used[target]
      const value = field === undefined ? undefined : fields.get(field)
      return value === '' || value === null ? undefined : value
    }
    const [userId, anonymousId] = [valueOf('user'), valueOf('anonymous')]
    if (userId === undefined && anonymousId === undefined) return invalid('no user')
    const event = valueOf('event') ?? eventName
    if (event === undefined) return invalid('no event name')
    // Without a time the service takes its own, and a second import would count again.
    const time = valueOf('time')
    if (time === undefined) return invalid('no time')
    const timeMs =
      typeof time === 'string' || typeof time === 'number' ? momentMs(String(time).trim()) : null
    if (timeMs === null) return invalid(`not a time: ${stringify(time)}`)

    const taken = new Set(Object.values(used))
    const properties = propertiesOf(fields, taken, propertyOf)
    const id = valueOf('id') ?? idOf(contentHash, line)
    const sessionId = valueOf('session')
    return {
      json: stringify({ id, event, userId, anonymousId, sessionId, time: timeMs, properties }),
    }
  }
}

// An object of its own, as the API has it, and whatever else there is beside it.
function propertiesOf(
  fields: ReadonlyMap<string, unknown>,
  taken: ReadonlySet<string>,
  propertyOf: (value: unknown) => unknown,
): Record<string, unknown> {
  const inner = fields.get('properties')
  const isInner = isPlainObject(inner) && !taken.has('properties')
  const entries = [...fields]
    .filter(([field]) => !taken.has(field) && !(isInner && field === 'properties'))
    .map(([field, value]): [string, unknown] => [field, propertyOf(value)])
    .filter(([, value]) => value !== undefined)
  return Object.fromEntries(isInner ? [...entries, ...Object.entries(inner)] : entries)
}

// A number that a double cannot keep is an object without a prototype.
function isPlainObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.getPrototypeOf(value) !== null
  )
}

/** Numbers and booleans only where they can be written back as they were: 007 and 1e3 stay text. */
function valueOfText(value: unknown): unknown {
  if (value === '') return undefined
  if (value === 'true' || value === 'false') return value === 'true'
  const number = Number(value)
  return Number.isFinite(number) && String(number) === value ? number : value
}

/** A UUID of version 5 in shape: SHA-1 of the file's hash and the line where the record starts. */
function idOf(contentHash: Buffer, line: number): string {
  const bytes = hash('sha1', Buffer.concat([contentHash, Buffer.from(String(line))]), 'buffer')
  bytes[6] = (bytes[6]! & 0x0f) | 0x50
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = bytes.toString('hex', 0, 16)
  return [
    [0, 8],
    [8, 12],
    [12, 16],
    [16, 20],
    [20, 32],
  ]
    .map(([a, b]) => hex.slice(a, b))
    .join('-')
}

function invalid(reason: string): Made {
  return { code: 'INVALID_EVENT', reason }
}
