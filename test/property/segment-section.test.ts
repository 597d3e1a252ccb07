import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SESSION_ID_PATH } from '../../src/segment/columns.ts'
import type { Value } from '../../src/segment/columns.ts'
import { packSections, sectionAlone } from '../../src/segment/pack.ts'
import { placeOf, READ_GROUP_COUNTS, type Place } from '../../src/segment/place.ts'
import { openSectionBuilder } from '../../src/segment/section-builder.ts'
import {
  decodeSection,
  encodeSection,
  joinSections,
  propertyPathsOf,
  splitByReadGroup,
  type EncodedSection,
  type RowsProperty,
  type SectionRows,
} from '../../src/segment/section.ts'

interface Row {
  readonly userNumber: number
  readonly timeMs: number
  readonly id: readonly [number, number]
  readonly sessionId?: string | null
  readonly properties: readonly (readonly [string, Value])[]
}

const USER_NUMBER_MAX = 2 ** 32 - 1
const word = fc.integer({ min: 0, max: USER_NUMBER_MAX })
const value: fc.Arbitrary<Value> = fc.oneof(
  fc.constantFrom(0, -0, 1, -1, Infinity, -Infinity, 1e-300, 0.1, 2 ** 53, 1e21, -1.5e308),
  fc.constantFrom('', '1', 'true', 'null', '\0', '\ud800', '\udfff\ud800', '😀', '["+"]', '+', '-'),
  fc.boolean(),
  fc.string({ unit: 'binary' }),
  fc.double({ noNaN: true }),
)
const path = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    'b',
    'c.d',
    '__proto__',
    '0',
    'p:a',
    'd:',
    'rows',
    'ids',
    'bloom',
    'session',
    'sessionIds',
    'é\0',
  ),
  fc.string(),
)
const row: fc.Arbitrary<Row> = fc.record({
  userNumber: fc.oneof(
    fc.integer({ min: 0, max: 5_000 }),
    word,
    fc.integer({ min: USER_NUMBER_MAX - 5_000, max: USER_NUMBER_MAX }),
    fc.integer({ min: -300, max: 300 }).map((by) => 3 * 65_536_000 + by),
  ),
  timeMs: fc.oneof(
    fc.constantFrom(0, 1, 899_999, 900_000, 86_399_999),
    fc.integer({ min: 0, max: 86_399_999 }),
  ),
  id: fc.tuple(word, word),
  // Most events have none.
  sessionId: fc.option(fc.oneof(fc.constantFrom('', '1', 's', '\0'), fc.string()), {
    nil: null,
    freq: 1,
  }),
  properties: fc.uniqueArray(fc.tuple(path, value), { maxLength: 5, selector: ([name]) => name }),
})
const few = fc.array(row, { maxLength: 12 })
// Now and then so many of one user that their times are written in two parts.
const many = fc
  .array(row, { minLength: 1, maxLength: 6 })
  .map((given) =>
    given.flatMap((one, at) =>
      at > 0 ? [one] : Array.from({ length: 200 }, (_, n) => ({ ...one, timeMs: n * 432_001 })),
    ),
  )
const rows = fc.oneof({ arbitrary: few, weight: 9 }, { arbitrary: many, weight: 1 })
const readGroupCount = fc.constantFrom(...READ_GROUP_COUNTS)

describe('a section', () => {
  test('gives back its rows', () => {
    fc.assert(
      fc.property(rows, readGroupCount, (given, count) => {
        const read = throughPack(built(given), count)
        expect(read.isCut).toBe(false)
        expect(textsOf(read).sort()).toEqual(given.map(textOf).sort())
      }),
      { numRuns: 60 },
    )
  })

  test('has its rows by read group and fold group, in time order within each', () => {
    fc.assert(
      fc.property(rows, readGroupCount, (given, count) => {
        const { section, columns } = encodeSection(built(given), count)
        const placed = given
          .map(({ userNumber, timeMs }) => ({ ...placeOf(userNumber, count), timeMs }))
          .sort(
            (a, b) => a.readGroup - b.readGroup || a.foldGroup - b.foldGroup || a.timeMs - b.timeMs,
          )
        const { timeMs, userNumber } = decoded({ section, columns }, count)
        expect([...timeMs]).toEqual(placed.map((one) => one.timeMs))
        expect(section.runs).toEqual(
          counted(placed, (one) => [one.readGroup, one.foldGroup].join()),
        )
        const groupOf = (one: Place) => [one.readGroup, one.foldGroup]
        expect([...userNumber].map((number) => groupOf(placeOf(number, count)))).toEqual(
          placed.map(groupOf),
        )
      }),
      { numRuns: 60 },
    )
  })

  test('tells how many rows it has, by quarters of an hour', () => {
    fc.assert(
      fc.property(rows, (given) => {
        const { section } = encodeSection(built(given), 1)
        const quarters = given.map(({ timeMs }) => Math.floor(timeMs / 900_000))
        expect(section).toMatchObject({ eventName: 'shop', day: 20_000, rowCount: given.length })
        expect(section.quarters).toEqual(
          counted(
            quarters.sort((a, b) => a - b),
            String,
          ),
        )
      }),
      { numRuns: 50 },
    )
  })

  test.each([
    [255, 1],
    [256, 2],
    [65_535, 2],
    [65_536, 4],
  ])('of %i values has codes of %i bytes, and gives the values back', (valueCount, codeBytes) => {
    const whole = ofValues(Array.from({ length: valueCount }, (_, n) => (n % 2 ? n : `${n}`)))
    const { section, columns } = encodeSection(whole, 5)
    expect(columns.get('p:of')!.length).toBe(codeBytes * section.rowCount)
    const read = throughPack(whole, 5)
    const { codes, values } = read.properties.get('of')!
    const differing = [...codes].filter((code, at) => {
      const sent = read.userNumber[at]! - 1
      return values[code] !== (sent < 0 ? null : sent % 2 ? sent : `${sent}`)
    })
    expect(differing).toEqual([])
  })

  test('keeps the properties that most rows have, the first of equals, and says that it is cut', () => {
    const names = Array.from({ length: 260 }, (_, n) => `p${(n * 7_919) % 1_000}`)
    const filled = (at: number) => (at * 31) % 20
    const given = Array.from({ length: 20 }, (_, n) => ({
      ...{ userNumber: n, timeMs: n, id: [n, n] as const },
      properties: names.flatMap((name, at) => (filled(at) > n ? [[name, n] as const] : [])),
    }))
    const kept = names
      .map((name, at) => ({ name, count: filled(at) }))
      .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))
      .slice(0, 200)
      .map(({ name }) => name)
    const read = throughPack(built(given), 1)
    expect(read.isCut).toBe(true)
    expect([...read.properties.keys()].sort()).toEqual(kept.sort())
    const expected = given.map((one) => {
      return textOf({ ...one, properties: one.properties.filter(([name]) => kept.includes(name)) })
    })
    expect(textsOf(read).sort()).toEqual(expected.sort())
  })

  test.each([
    [200, false],
    [201, true],
  ])('of %i properties is cut: %s, and keeps its session ids', (count, isCut) => {
    const properties = Array.from({ length: count }, (_, n) => [`p${n}`, n] as const)
    const one = { userNumber: 1, timeMs: 2, id: [3, 4] as const, properties }
    for (const sessionId of [null, 's']) {
      // Fewer rows have a session id than any of the properties.
      const read = throughPack(built([one, { ...one, sessionId }]), 1)
      const ids = read.properties.get(SESSION_ID_PATH)
      expect([read.isCut, read.properties.size]).toEqual([isCut, sessionId === null ? 200 : 201])
      expect(ids?.values).toEqual(sessionId === null ? undefined : [null, 's'])
    }
  })

  test('without session ids has no column of them', () => {
    const without = { userNumber: 1, timeMs: 2, id: [3, 4] as const, properties: [] }
    const columnsOf = (sessionId: string | null) => [
      ...encodeSection(built([{ ...without, sessionId }]), 1).columns.keys(),
    ]
    expect(columnsOf(null)).toEqual(['user', 'time', 'ids'])
    expect(columnsOf('s')).toEqual(['user', 'time', 'ids', 'session', 'sessionIds'])
    const { columns } = packSections([encodeSection(built([{ ...without, sessionId: 's' }]), 1)])
      .sections[0]!
    expect(propertyPathsOf({ columns })).toEqual([])
  })

  test('is built of the first 1,000 properties, and says that it is cut', () => {
    const given = Array.from({ length: 11 }, (_, n) => ({
      ...{ userNumber: n, timeMs: n, id: [n, n] as const },
      properties: Array.from({ length: 100 }, (_, at) => [`p${100 * n + at}`, n] as const),
    }))
    expect([built(given).isCut, built(given).properties.size]).toEqual([true, 1_000])
    expect(built(given.slice(1)).isCut).toBe(false)
  })

  test('of one property has each value once in its dictionary, and null first', () => {
    fc.assert(
      fc.property(rows, (given) => {
        for (const { values } of throughPack(built(given), 1).properties.values()) {
          expect(values.indexOf(null)).toBe(0)
          expect(new Set(values).size).toBe(values.length)
        }
      }),
      { numRuns: 30 },
    )
  })
})

describe('sections', () => {
  test('split by read group are as the whole', () => {
    fc.assert(
      fc.property(rows, readGroupCount, (given, count) => {
        const parts = splitByReadGroup(built(given), count)
        const read = parts.map((part) => throughPack(part.rows, count))
        expect(read.flatMap(textsOf)).toEqual(textsOf(throughPack(built(given), count)))
        const groups = given.map(({ userNumber }) => placeOf(userNumber, count).readGroup)
        const expected = [...new Set(groups)].sort((a, b) => a - b)
        // One read group is not looked for: the rows as they are, even if there are none.
        if (count > 1) expect(parts.map(({ readGroup }) => readGroup)).toEqual(expected)
        for (const { readGroup, rows: part } of parts)
          for (const number of part.userNumber)
            expect(placeOf(number, count).readGroup).toBe(readGroup)
      }),
      { numRuns: 30 },
    )
  })

  test('joined are as if built at once', () => {
    fc.assert(
      fc.property(
        fc.array(rows, { minLength: 1, maxLength: 5 }),
        readGroupCount,
        (parts, count) => {
          const joined = joinSections(parts.map((part) => throughPack(built(part), count)))
          const whole = built(parts.flat())
          expect([...joined.properties.keys()].sort()).toEqual([...whole.properties.keys()].sort())
          const read = throughPack(joined, count)
          expect(textsOf(read).sort()).toEqual(textsOf(whole).sort())
          for (const { values } of read.properties.values())
            expect(new Set(values).size).toBe(values.length)
        },
      ),
    )
  })

  test('joined are cut if one of them is', () => {
    const part = built([])
    expect(joinSections([part, { ...part, isCut: true }, part]).isCut).toBe(true)
    expect(joinSections([part, part]).isCut).toBe(false)
  })

  test('packed lie one after the other, each column at a multiple of 8', () => {
    fc.assert(
      fc.property(fc.array(rows, { maxLength: 4 }), readGroupCount, (parts, count) => {
        const encoded = parts.map((part) => encodeSection(built(part), count))
        const { sections, pack } = packSections(encoded)
        let end = 0
        for (const [index, { columns, section }] of encoded.entries()) {
          expect(sections[index]).toMatchObject(section)
          expect(Object.keys(sections[index]!.columns)).toEqual([...columns.keys()])
          for (const [name, bytes] of columns) {
            const { offset, bytes: size } = sections[index]!.columns[name]!
            expect(offset).toBe(Math.ceil(end / 8) * 8)
            expect(Buffer.compare(pack.subarray(offset, offset + size), bytes)).toBe(0)
            end = offset + size
          }
        }
        expect(pack.length).toBe(Math.ceil(end / 8) * 8)
      }),
      { numRuns: 30 },
    )
  })

  test('alone have each column at its beginning', () => {
    const encoded = encodeSection(built(fc.sample(row, 5)), 1)
    const { columns } = sectionAlone(encoded)
    expect(Object.entries(columns)).toEqual(
      [...encoded.columns].map(([name, { length }]) => [name, { offset: 0, bytes: length }]),
    )
  })

  // A column's name is text in Cassandra, where half of a surrogate pair becomes U+FFFD.
  test('have columns whose names can be stored', () => {
    const section = openSectionBuilder('shop', 20_000)
    const properties = '{"\\ud800":1,"\\ud801":2,"a":{"\\udfff":3}}'
    section.add({ userNumber: 1, timeMs: 2, id: Uint32Array.of(3, 4), sessionId: 's', properties })
    for (const name of encodeSection(section.build(), 1).columns.keys())
      expect(Buffer.from(name).toString()).toBe(name)
  })
})

function built(given: readonly Row[]): SectionRows {
  const section = openSectionBuilder('shop', 20_000)
  for (const { userNumber, timeMs, id, sessionId = null, properties } of given) {
    const members = properties.map(([name, of]) => `${JSON.stringify(name)}:${jsonOf(of)}`)
    const sent = { sessionId, properties: `{${members.join()}}` }
    section.add({ userNumber, timeMs, id: Uint32Array.from(id), ...sent })
  }
  return section.build()
}

/** As a sender may write it: with -0, and numbers that are infinite as doubles. */
function jsonOf(of: Value): string {
  if (of === Infinity) return '1e999'
  if (of === -Infinity) return '-1e999'
  return Object.is(of, -0) ? '-0' : JSON.stringify(of)
}

/** One row a value and one without, each user's number telling which. */
function ofValues(values: readonly Value[]): SectionRows {
  const rowCount = values.length + 1
  const count = Uint32Array.from({ length: rowCount }, (_, at) => at)
  return {
    ...{ eventName: 'shop', day: 20_000, rowCount, isCut: false },
    userNumber: count,
    timeMs: count.map((at) => rowCount - at),
    ids: new Uint32Array(2 * rowCount),
    properties: new Map([['of', { codes: count, values: [null, ...values] }]]),
  }
}

/** Writes a section, and reads it again. */
function throughPack(whole: SectionRows, count: number): SectionRows {
  return decoded(encodeSection(whole, count), count)
}

/** Reads a section from a pack that begins at an odd address. */
function decoded(encoded: EncodedSection, count: number): SectionRows {
  const { sections, pack } = packSections([encoded])
  const stored = Buffer.concat([Buffer.of(0), pack]).subarray(1)
  const section = JSON.parse(JSON.stringify(sections[0])) as (typeof sections)[0]
  return decodeSection(section!, count, (name) => {
    const { offset, bytes } = section!.columns[name]!
    return stored.subarray(offset, offset + bytes)
  })
}

/** A row as text; -0 reads as 0, from which no question tells it apart. */
function textOf({ userNumber, timeMs, id, sessionId = null, properties }: Row): string {
  const named = properties.map(([name, of]) => JSON.stringify([name, typeof of, String(of)]))
  return [userNumber, timeMs, ...id, JSON.stringify(sessionId), ...named.sort()].join(' ')
}

function textsOf({ rowCount, userNumber, timeMs, ids, properties }: SectionRows): string[] {
  return Array.from({ length: rowCount }, (_, at) =>
    textOf({
      userNumber: userNumber[at]!,
      timeMs: timeMs[at]!,
      id: [ids[2 * at]!, ids[2 * at + 1]!],
      sessionId: sessionIdOf(properties.get(SESSION_ID_PATH), at),
      properties: [...properties].flatMap(([name, { codes, values }]) => {
        const of = values[codes[at]!]!
        return of === null || name === SESSION_ID_PATH ? [] : [[name, of] as const]
      }),
    }),
  )
}

function sessionIdOf(sessions: RowsProperty | undefined, row: number): string | null {
  return (sessions?.values[sessions.codes[row]!] ?? null) as string | null
}

/** Runs of equal keys: the numbers of each key, then how many there are. */
function counted<T>(items: readonly T[], keyOf: (item: T) => string): number[] {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1)
  return [...counts].flatMap(([key, count]) => [...key.split(',').map(Number), count])
}
