import assert from 'node:assert'
import { BUCKET_COUNT } from '../event/bucket.ts'
import { SESSION_ID_PATH } from './columns.ts'
import type { Value } from './columns.ts'
import { buildBloom } from './bloom.ts'
import {
  codeBytesFor,
  codesView,
  decodeValues,
  encodeValues,
  openDictionary,
} from './dictionary.ts'
import { QUARTER_MS, type Section } from './directory.ts'
import { FOLD_GROUP_USERS, userNumberAt } from './place.ts'
import { timeOrder } from './time-order.ts'
import { highWordsOf, joinTimes, splitTimes } from './times.ts'

/** How many properties of one event name get a column in a segment. */
export const PROPERTY_COLUMNS_MAX = 200
/** Below it, looking through the ids is as quick as a filter. */
const BLOOM_ROWS_MIN = 128

/** Positions of the rows' users within their fold groups (uint16). */
export const USER = 'user'
/** Times of the rows (uint32, ms of the day): in a section of short runs only. */
export const TIME = 'time'
/** The times of the rows in two parts (times.ts): where the runs are long enough. */
export const TIME_LOW = 'timeLow'
export const TIME_HIGH = 'timeHigh'
/** Two words a row: what tells the event from all others (identity-hash.ts). */
export const IDS = 'ids'
/** A Bloom filter of the ids; absent where the rows are few. */
export const BLOOM = 'bloom'
/** The codes of the session ids, and the ids: where any event has one. */
const SESSION_CODES = 'session'
const SESSION_IDS = 'sessionIds'
/** A property's codes, and the values that they stand for. Session ids count as one (event/property.ts). */
export const codesColumn = (path: string) =>
  path === SESSION_ID_PATH ? SESSION_CODES : `p:${path}`
export const valuesColumn = (path: string) => (path === SESSION_ID_PATH ? SESSION_IDS : `d:${path}`)

/** A property of some rows: row r has `values[codes[r]]`, values[0] being null. */
export interface RowsProperty {
  readonly codes: Uint32Array
  readonly values: readonly (Value | null)[]
}

/** The events of one name and day, in no order. */
export interface SectionRows {
  readonly eventName: string
  readonly day: number
  readonly rowCount: number
  readonly userNumber: Uint32Array
  /** Milliseconds of the day. */
  readonly timeMs: Uint32Array
  /** Two words a row. */
  readonly ids: Uint32Array
  /** Session ids among them, where any event has one. */
  readonly properties: ReadonlyMap<string, RowsProperty>
  readonly isCut: boolean
}

/** A section and the bytes of its columns. The places are yet to be given. */
export interface EncodedSection {
  readonly section: Omit<Section, 'columns'>
  readonly columns: ReadonlyMap<string, Uint8Array>
}

/**
 * Writes the events of one name and day as columns: by read group and fold group, in time order within
 * each. Every column has its rows in that order, at a fixed width. O(n log n) in the rows of a fold group.
 */
export function encodeSection(rows: SectionRows, readGroupCount: number): EncodedSection {
  const { eventName, day, rowCount } = rows
  const { order, runs, position } = inRowOrder(rows, readGroupCount)
  const times = new Uint32Array(rowCount)
  const ids = new Uint32Array(2 * rowCount)
  const users = new Uint16Array(rowCount)
  const quarters = new Uint32Array(96)
  for (let row = 0; row < rowCount; row++) {
    const from = order[row]!
    const timeMs = rows.timeMs[from]!
    times[row] = timeMs
    users[row] = position[from]!
    ids[2 * row] = rows.ids[2 * from]!
    ids[2 * row + 1] = rows.ids[2 * from + 1]!
    quarters[Math.floor(timeMs / QUARTER_MS)]!++
  }
  const columns = new Map<string, Uint8Array>([[USER, bytesOf(users)]])
  const split = splitTimes(times, rowsOfRuns(runs))
  if (split === null) columns.set(TIME, bytesOf(times))
  else columns.set(TIME_LOW, bytesOf(split.low)).set(TIME_HIGH, bytesOf(split.high))
  columns.set(IDS, bytesOf(ids))
  if (rowCount >= BLOOM_ROWS_MIN) columns.set(BLOOM, bytesOf(buildBloom(ids)))
  const { kept, isCut } = mostFilled(rows)
  for (const [path, property] of kept) addProperty(columns, path, property, order)
  return {
    section: {
      ...{ eventName, day, rowCount, runs, isCut },
      quarters: [...quarters].flatMap((count, quarter) => (count === 0 ? [] : [quarter, count])),
    },
    columns,
  }
}

/** Adds the columns of a property, with the values that rows have; none where no row has any. */
function addProperty(
  columns: Map<string, Uint8Array>,
  path: string,
  { codes, values }: RowsProperty,
  order: Uint32Array,
): void {
  const newCode = new Uint32Array(values.length)
  const kept: (Value | null)[] = [null]
  for (let row = 0; row < order.length; row++) {
    const code = codes[row]!
    if (code === 0 || newCode[code] !== 0) continue
    newCode[code] = kept.length
    kept.push(values[code]!)
  }
  if (kept.length === 1) return
  const codeBytes = codeBytesFor(kept.length)
  const bytes = new Uint8Array(order.length * codeBytes)
  const written = codesView(bytes, codeBytes)
  for (let row = 0; row < order.length; row++) written[row] = newCode[codes[order[row]!]!]!
  columns.set(codesColumn(path), bytes)
  columns.set(valuesColumn(path), encodeValues(kept))
}

/** Those that most rows have, where there are more than the limit; equal ones by their path. Session ids stay. */
function mostFilled({ properties, isCut }: SectionRows) {
  const sessions = properties.get(SESSION_ID_PATH)
  const others = [...properties].filter(([path]) => path !== SESSION_ID_PATH)
  if (others.length <= PROPERTY_COLUMNS_MAX) return { kept: properties, isCut }
  const filled = others.map(([path, property]) => {
    let count = 0
    for (const code of property.codes) if (code !== 0) count++
    return { path, property, count }
  })
  filled.sort((a, b) => b.count - a.count || (a.path < b.path ? -1 : 1))
  const most = filled.slice(0, PROPERTY_COLUMNS_MAX)
  const kept = new Map(most.map(({ path, property }) => [path, property]))
  if (sessions !== undefined) kept.set(SESSION_ID_PATH, sessions)
  return { kept, isCut: true }
}

/** Returns the order of the rows in the section, and each row's position within its fold group. */
function inRowOrder({ rowCount, userNumber, timeMs }: SectionRows, readGroupCount: number) {
  const width = BUCKET_COUNT / readGroupCount
  const groupOf = new Uint32Array(rowCount)
  const position = new Uint16Array(rowCount)
  let foldGroupCount = 1
  for (let row = 0; row < rowCount; row++) {
    const number = userNumber[row]!
    const bucket = number % BUCKET_COUNT
    const readGroup = Math.floor(bucket / width)
    const whole = Math.floor(number / BUCKET_COUNT) * width + (bucket - readGroup * width)
    const foldGroup = Math.floor(whole / FOLD_GROUP_USERS)
    if (foldGroup >= foldGroupCount) foldGroupCount = foldGroup + 1
    groupOf[row] = foldGroup
    position[row] = whole % FOLD_GROUP_USERS
  }
  for (let row = 0; row < rowCount; row++) {
    const readGroup = Math.floor((userNumber[row]! % BUCKET_COUNT) / width)
    groupOf[row] = readGroup * foldGroupCount + groupOf[row]!
  }
  const starts = new Uint32Array(readGroupCount * foldGroupCount + 1)
  for (let row = 0; row < rowCount; row++) starts[groupOf[row]! + 1]!++
  const runs: number[] = []
  for (let group = 0; group < starts.length - 1; group++) {
    const count = starts[group + 1]!
    if (count > 0) runs.push(Math.floor(group / foldGroupCount), group % foldGroupCount, count)
    starts[group + 1] = starts[group]! + count
  }
  return { order: timeOrder(timeMs, groupOf, starts), runs, position }
}

/**
 * Reads a section back, all its rows with their users' numbers. `columnOf` gives a column's bytes.
 * Throws an Error for columns of other sizes than the section says.
 */
export function decodeSection(
  section: Section,
  readGroupCount: number,
  columnOf: (name: string) => Uint8Array,
): SectionRows {
  const { eventName, day, rowCount, isCut, runs } = section
  if (rowsOfRuns(runs).reduce((sum, count) => sum + count, 0) !== rowCount)
    throw new Error('section: runs and rows differ')
  const sized = (name: string, bytes: number) => {
    const column = columnOf(name)
    if (column.length !== bytes) throw new Error(`section: ${name} of another size`)
    return column
  }
  const user = halvesOf(sized(USER, 2 * rowCount))
  const timeMs = timesOf(section, sized)
  const userNumber = new Uint32Array(rowCount)
  let row = 0
  for (let at = 0; at < runs.length; at += 3) {
    const [readGroup, foldGroup, count] = runs.slice(at, at + 3) as [number, number, number]
    for (const end = row + count; row < end; row++)
      userNumber[row] = userNumberAt({ readGroup, foldGroup, position: user[row]! }, readGroupCount)
  }
  const ids = wordsOf(sized(IDS, 8 * rowCount))
  const properties = new Map<string, RowsProperty>()
  const sessions = SESSION_CODES in section.columns ? [SESSION_ID_PATH] : []
  for (const path of [...propertyPathsOf(section), ...sessions]) {
    const values = decodeValues(columnOf(valuesColumn(path)))
    const codeBytes = codeBytesFor(values.length)
    const bytes = aligned(sized(codesColumn(path), codeBytes * rowCount))
    properties.set(path, { codes: Uint32Array.from(codesView(bytes, codeBytes)), values })
  }
  return { eventName, day, rowCount, isCut, userNumber, timeMs, ids, properties }
}

/** Returns the properties that a section has columns of, without the session ids. */
export function propertyPathsOf({ columns }: Pick<Section, 'columns'>): string[] {
  return Object.keys(columns).flatMap((name) => (name.startsWith('p:') ? [name.slice(2)] : []))
}

/** Returns the rows of each run, from the triples of a section. */
export function rowsOfRuns(runs: readonly number[]): number[] {
  return runs.filter((_, index) => index % 3 === 2)
}

function timesOf(
  { rowCount, columns, runs }: Section,
  sized: (name: string, bytes: number) => Uint8Array,
): Uint32Array {
  if (columns[TIME] !== undefined) return wordsOf(sized(TIME, 4 * rowCount))
  const runRows = rowsOfRuns(runs)
  const split = {
    low: halvesOf(sized(TIME_LOW, 2 * rowCount)),
    high: wordsOf(sized(TIME_HIGH, 4 * highWordsOf(runRows))),
  }
  const timeMs = new Uint32Array(rowCount)
  joinTimes(split, runRows, timeMs)
  return timeMs
}

/** Puts sections of one name and day together. No event may be in two of them. */
export function joinSections(parts: readonly SectionRows[]): SectionRows {
  const [first] = parts
  assert(first !== undefined)
  if (parts.length === 1) return first
  const { eventName, day } = first
  const rowCount = parts.reduce((sum, part) => sum + part.rowCount, 0)
  const paths = new Set(parts.flatMap(({ properties }) => [...properties.keys()]))
  return {
    ...{ eventName, day, rowCount },
    userNumber: joinWords(parts.map((part) => part.userNumber)),
    timeMs: joinWords(parts.map((part) => part.timeMs)),
    ids: joinWords(parts.map((part) => part.ids)),
    properties: new Map([...paths].map((path) => [path, joinProperty(parts, path, rowCount)])),
    isCut: parts.some((part) => part.isCut),
  }
}

function joinProperty(parts: readonly SectionRows[], path: string, rowCount: number): RowsProperty {
  const dictionary = openDictionary()
  const codes = new Uint32Array(rowCount)
  let start = 0
  for (const part of parts) {
    const property = part.properties.get(path)
    if (property !== undefined) {
      const codeIn = property.values.map((value) => dictionary.codeOf(value))
      for (let row = 0; row < part.rowCount; row++)
        codes[start + row] = codeIn[property.codes[row]!]!
    }
    start += part.rowCount
  }
  return { codes, values: dictionary.values }
}

/** Splits rows by read group; groups without rows are left out. */
export function splitByReadGroup(
  rows: SectionRows,
  readGroupCount: number,
): { readGroup: number; rows: SectionRows }[] {
  if (readGroupCount === 1) return [{ readGroup: 0, rows }]
  const width = BUCKET_COUNT / readGroupCount
  const chosen = Array.from({ length: readGroupCount }, (): number[] => [])
  for (let row = 0; row < rows.rowCount; row++)
    chosen[Math.floor((rows.userNumber[row]! % BUCKET_COUNT) / width)]!.push(row)
  return chosen.flatMap((of, readGroup) =>
    of.length === 0 ? [] : [{ readGroup, rows: pickRows(rows, of) }],
  )
}

function pickRows(rows: SectionRows, chosen: readonly number[]): SectionRows {
  const pick = (words: Uint32Array) => Uint32Array.from(chosen, (row) => words[row]!)
  const ids = new Uint32Array(2 * chosen.length)
  for (const [at, row] of chosen.entries()) {
    ids[2 * at] = rows.ids[2 * row]!
    ids[2 * at + 1] = rows.ids[2 * row + 1]!
  }
  const properties = [...rows.properties].map(([path, { codes, values }]) => {
    const property: RowsProperty = { codes: pick(codes), values }
    return [path, property] as const
  })
  return {
    ...{ eventName: rows.eventName, day: rows.day, isCut: rows.isCut },
    rowCount: chosen.length,
    userNumber: pick(rows.userNumber),
    timeMs: pick(rows.timeMs),
    ids,
    properties: new Map(properties),
  }
}

/** Views bytes as words. Copies them where they are not aligned. */
export function wordsOf(bytes: Uint8Array): Uint32Array {
  const { buffer, byteOffset, byteLength } = aligned(bytes)
  return new Uint32Array(buffer, byteOffset, byteLength / 4)
}

function halvesOf(bytes: Uint8Array): Uint16Array {
  const { buffer, byteOffset, byteLength } = aligned(bytes)
  return new Uint16Array(buffer, byteOffset, byteLength / 2)
}

function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes)
}

function bytesOf(words: Uint32Array | Uint16Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength)
}

function joinWords(parts: readonly Uint32Array[]): Uint32Array {
  const joined = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let start = 0
  for (const part of parts) {
    joined.set(part, start)
    start += part.length
  }
  return joined
}
