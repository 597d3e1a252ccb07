import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FOLD_GROUP_USERS } from '../../src/segment/place.ts'
import { placeByValue } from '../../src/segment/place-by-value.ts'

interface Row {
  readonly timeMs: number
  /** Of the dictionary; 0 is a missing value. */
  readonly code: number
}

const CODES = 12
const aRow: fc.Arbitrary<Row> = fc.record({
  timeMs: fc.oneof(fc.nat(4), fc.nat(86_399_999)),
  code: fc.nat(CODES - 1),
})
// Some codes have no number, some share one, and numbers lie about the borders of fold groups.
const aNumber = fc.oneof(
  fc.constant(null),
  fc.nat(3),
  fc
    .tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: -2, max: 2 }))
    .map(([group, by]) => group * FOLD_GROUP_USERS + by),
)
const numbers = fc
  .array(aNumber, { minLength: CODES - 1, maxLength: CODES - 1 })
  .map((ofValues) => [null, ...ofValues])

const place = (rows: readonly Row[], numberOf: readonly (number | null)[]) => {
  const codes = rows.map(({ code }) => code)
  return placeByValue(
    Uint32Array.from(rows, ({ timeMs }) => timeMs),
    numberOf.length > 256 ? Uint32Array.from(codes) : Uint8Array.from(codes),
    Uint32Array.from(numberOf, (number) => (number === null ? 0 : number + 1)),
  )
}

/** The definition: rows that have a number, sorted by fold group, then time, then row. */
function slowPlaces(rows: readonly Row[], numberOf: readonly (number | null)[]) {
  const placed = rows
    .map(({ timeMs, code }, row) => ({ row, timeMs, number: numberOf[code]! }))
    .filter(({ number }) => number !== null)
    .map((one) => ({
      ...one,
      group: Math.floor(one.number / 65_536),
      position: one.number % 65_536,
    }))
    .sort((a, b) => a.group - b.group || a.timeMs - b.timeMs || a.row - b.row)
  const groups = [...new Set(placed.map(({ group }) => group))]
  return {
    order: placed.map(({ row }) => row),
    position: placed.map(({ position }) => position),
    runs: groups.flatMap((group) => {
      const first = placed.findIndex((one) => one.group === group)
      return [0, group, first, placed.findLastIndex((one) => one.group === group) + 1]
    }),
  }
}

describe('rows placed by value', () => {
  test('lie where the numbers of their values say, in time order within a run', () => {
    fc.assert(
      fc.property(fc.array(aRow, { maxLength: 60, size: 'max' }), numbers, (rows, numberOf) => {
        const { order, position, runs } = place(rows, numberOf)
        const shown = { order: [...order], position: [...position], runs }
        expect(shown).toEqual(slowPlaces(rows, numberOf))
      }),
      { numRuns: 1_000 },
    )
  })

  test('may have more values than a fold group has positions', () => {
    const valueCount = 3 * FOLD_GROUP_USERS + 5
    const numberOf = [null, ...Array.from({ length: valueCount }, (_, number) => number)]
    const rows = Array.from({ length: 2 * valueCount }, (_, row) => ({
      ...{ timeMs: (row * 7_919) % 86_400_000, code: 1 + ((row * 104_729) % valueCount) },
    }))
    const { order, position, runs } = place(rows, numberOf)
    expect(runs.filter((_, at) => at % 4 === 1)).toEqual([0, 1, 2, 3])
    const seen = new Uint8Array(valueCount)
    for (let at = 0; at < runs.length; at += 4)
      for (let row = runs[at + 2]!; row < runs[at + 3]!; row++) {
        const { timeMs, code } = rows[order[row]!]!
        const number = runs[at + 1]! * FOLD_GROUP_USERS + position[row]!
        if (number !== code - 1) expect.fail(`row ${row} lies at ${number}`)
        if (row > runs[at + 2]! && timeMs < rows[order[row - 1]!]!.timeMs) expect.fail('time order')
        seen[number]!++
      }
    expect(runs.at(-1)).toBe(rows.length)
    expect(seen.every((count) => count === 2)).toBe(true)
  })

  test('are none where no value has a number', () => {
    const { order, runs } = place([{ timeMs: 1, code: 0 }], [null])
    expect([...order, ...runs]).toEqual([])
  })
})
