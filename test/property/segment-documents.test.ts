import { deflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Value } from '../../src/segment/columns.ts'
import { codeBytesFor, decodeValues, encodeValues } from '../../src/segment/dictionary.ts'
import {
  decodeDocument,
  encodeDocument,
  type Section,
  type SegmentRef,
} from '../../src/segment/directory.ts'
import { decodeRoot, emptyRoot, encodeRoot, type Root } from '../../src/segment/root.ts'
import { encodeSection, decodeSection, type SectionRows } from '../../src/segment/section.ts'
import { decodeUsers, encodeUsers } from '../../src/segment/user-list.ts'

const word = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '\0', '😀', '\ufeff'),
)
const value: fc.Arbitrary<Value | null> = fc.oneof(
  fc.constantFrom(
    null,
    Infinity,
    -Infinity,
    1e-300,
    5e-324,
    2 ** 53 + 2,
    1e21,
    '1',
    1,
    true,
    'true',
  ),
  fc.constantFrom('\ud800', '\udc00\ud800', '+', '["-"]', '\u2028'),
  text,
  fc.double({ noNaN: true }),
)

describe('a dictionary', () => {
  test('gives back its values; minus zero is zero', () => {
    fc.assert(
      fc.property(fc.array(value), (values) => {
        const expected = values.map((one) => (Object.is(one, -0) ? 0 : one))
        expect(decodeValues(encodeValues(values))).toEqual(expected)
      }),
      { numRuns: 300 },
    )
  })

  test.each([
    [1, 1],
    [256, 1],
    [257, 2],
    [65_536, 2],
    [65_537, 4],
  ])('of %i values has codes of %i bytes', (count, bytes) => {
    expect(codeBytesFor(count)).toBe(bytes)
  })
})

describe('a list of users', () => {
  // Ids with half of a surrogate pair are refused on the way in.
  const users = fc.array(
    fc.record({ userNumber: word, userId: fc.oneof(text, fc.string({ unit: 'grapheme' })) }),
  )

  test('gives back its users', () => {
    fc.assert(
      fc.property(users, (listed) => {
        expect(decodeUsers(encodeUsers(listed))).toEqual(listed)
      }),
      { numRuns: 200 },
    )
  })
})

const section: fc.Arbitrary<Section> = fc.record({
  eventName: text,
  day: fc.integer(),
  rowCount: fc.nat(),
  quarters: fc.array(fc.nat()),
  runs: fc.array(word),
  columns: fc.dictionary(
    text.map((name) => `p:${name}`),
    fc.record({ offset: fc.maxSafeNat(), bytes: fc.nat() }),
    { noNullPrototype: true },
  ),
  isCut: fc.boolean(),
})
const ref: fc.Arbitrary<SegmentRef> = fc.record({
  segment: fc.uuid(),
  ...{ level: fc.nat(9), readGroupCount: fc.constantFrom(1, 5, 25, 125), firstDay: fc.integer() },
  ...{
    lastDay: fc.integer(),
    expiresDay: fc.nat(),
    rowCount: fc.nat(),
    packBytes: fc.nat(),
    userCount: fc.nat(),
  },
  section: fc.option(section),
})
const root: fc.Arbitrary<Root> = fc.record({
  publication: fc.uuid(),
  isRecovering: fc.boolean(),
  asOfMs: fc.maxSafeNat(),
  hashKey: fc.tuple(word, word),
  readGroupCount: fc.constantFrom(1, 5, 25, 125),
  writers: fc.dictionary(
    fc.uuid(),
    fc.record({
      through: fc.integer({ min: -1 }),
      gaps: fc.array(fc.nat()),
      rowsThrough: fc.integer({ min: -1 }),
      isClosed: fc.boolean(),
    }),
    { noNullPrototype: true },
  ),
  fresh: fc.array(ref, { maxLength: 4 }),
  pages: fc.dictionary(fc.nat(2_000).map(String), fc.uuid(), { noNullPrototype: true }),
  userLists: fc.array(fc.record({ object: fc.uuid(), level: fc.nat(9), userCount: fc.nat() })),
  erased: fc.option(fc.uuid()),
  erasureCount: fc.nat(),
  newestReceivedAtMs: fc.maxSafeNat(),
  hour: fc.nat(),
  sweptHour: fc.nat(),
})

describe('a root', () => {
  test('is read as it was written', () => {
    fc.assert(
      fc.property(root, (given) => {
        expect(decodeRoot(encodeRoot(given))).toEqual(given)
      }),
    )
  })

  test('of nothing is read as it was written', () => {
    const given = emptyRoot([1, 2], { hour: 3, sinceHour: 3 })
    expect(decodeRoot(encodeRoot(given))).toEqual(given)
  })

  test.each(['{"format":2}', '{"format":"1"}', '{}', '[]'])('that is %s is an error', (text) => {
    expect(() => decodeRoot(encodeDocument(JSON.parse(text)))).toThrow('root: format')
  })
})

test('a document is read as it was written', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (document) => {
      expect(JSON.stringify(decodeDocument(encodeDocument(document)))).toBe(
        JSON.stringify(document),
      )
    }),
  )
})

describe('bytes that are something else', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.uint8Array({ maxLength: 300 }).map((inflated) => deflateRawSync(inflated)),
    fc.json().map((document) => deflateRawSync(document)),
    // What begins as a list of users does, and says that it has very many.
    fc
      .tuple(word, fc.uint8Array({ maxLength: 60 }))
      .map(([count, rest]) => deflateRawSync(Buffer.concat([Uint8Array.of(...le(count)), rest]))),
  )

  test.each([
    ['users', decodeUsers],
    ['values', decodeValues],
    ['a document', decodeDocument],
    ['a root', decodeRoot],
  ] as [string, (bytes: Uint8Array) => unknown][])(
    'are read as %s, or are an error',
    (_, decode) => {
      fc.assert(
        fc.property(bytes, (given) => {
          isAnswered(() => decode(given))
        }),
        { numRuns: 300 },
      )
    },
  )

  test('are read as a section, or are an error', () => {
    const some = (rowBytes: number) =>
      fc.oneof(
        bytes,
        fc.nat(20).map((count) => new Uint8Array(rowBytes * count)),
      )
    const given = fc.record({
      rowCount: fc.nat(20),
      runs: fc.array(fc.oneof(fc.nat(20), fc.nat(1_000)), { maxLength: 9 }),
      isSplit: fc.boolean(),
      columns: fc.record({
        ...{ user: some(2), time: some(4), timeLow: some(2), timeHigh: some(4), ids: some(8) },
        ...{ 'p:a': bytes, 'd:a': bytes },
      }),
    })
    fc.assert(
      fc.property(given, ({ rowCount, runs, isSplit, columns: { time, ...others } }) => {
        const columns: Record<string, Uint8Array> = isSplit ? others : { ...others, time }
        isAnswered(() => decoded(columns, { rowCount, runs }))
      }),
      { numRuns: 300 },
    )
  })

  test.each(['user', 'time', 'timeLow', 'timeHigh', 'ids', 'p:narrow', 'p:wide'])(
    'are an error as the column %s of a section, when of another size',
    (column) => {
      const accepted: string[] = []
      for (const whole of [ofRows(300), ofRows(60)]) {
        const { section: encoded, columns } = encodeSection(whole, 1)
        const right = Object.fromEntries(columns)
        expect(decoded(right, encoded).rowCount).toBe(whole.rowCount)
        const bytesOf = right[column]
        if (bytesOf === undefined) continue
        for (const change of [-4, -1, 1, 3, 8]) {
          const longer = Buffer.concat([bytesOf, Buffer.alloc(8)])
          const wrong = { ...right, [column]: longer.subarray(0, bytesOf.length + change) }
          if (isAnswered(() => decoded(wrong, encoded))) accepted.push(`${change} bytes`)
        }
      }
      expect(accepted).toEqual([])
    },
  )

  test('are an error as a section whose runs and rows differ', () => {
    const columns = { user: new Uint8Array(4), time: new Uint8Array(8), ids: new Uint8Array(16) }
    for (const runs of [[], [0, 0, 1], [0, 0, 3], [0, 0, 1, 0, 1, 2], [0, 0], [0]])
      expect(() => decoded(columns, { rowCount: 2, runs })).toThrow(/^section: /)
  })
})

/** Rows of one user each, with codes of 1 and, for more than 256 rows, of 2 bytes. */
function ofRows(rowCount: number): SectionRows {
  const count = Uint32Array.from({ length: rowCount }, (_, at) => at)
  return {
    ...{ eventName: 'shop', day: 20_000, rowCount, isCut: false },
    ...{ userNumber: count, timeMs: count, ids: new Uint32Array(2 * rowCount) },
    properties: new Map([
      ['narrow', { codes: count.map((at) => at % 2), values: [null, true] }],
      ['wide', { codes: count, values: [null, ...count.slice(1)] }],
    ]),
  }
}

function decoded(
  columns: Record<string, Uint8Array>,
  { rowCount, runs }: { readonly rowCount: number; readonly runs: readonly number[] },
): SectionRows {
  const places = Object.entries(columns).map(
    ([name, { length }]) => [name, { offset: 0, bytes: length }] as const,
  )
  const of = { eventName: 'shop', day: 20_000, quarters: [], isCut: false, rowCount, runs }
  return decodeSection(
    { ...of, columns: Object.fromEntries(places) },
    1,
    (name) => columns[name] ?? new Uint8Array(0),
  )
}

function le(count: number): number[] {
  return [count & 255, (count >>> 8) & 255, (count >>> 16) & 255, count >>> 24]
}

function isAnswered(decode: () => unknown): boolean {
  try {
    decode()
    return true
  } catch (error) {
    expect(error).toBeInstanceOf(Error)
    return false
  }
}
