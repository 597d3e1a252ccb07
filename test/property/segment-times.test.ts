import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { highWordsOf, joinTimes, splitTimes } from '../../src/segment/times.ts'

const DAY_MS = 86_400_000

const timeMs = fc.oneof(
  fc.integer({ min: 0, max: DAY_MS - 1 }),
  fc.constantFrom(0, 1, 65_535, 65_536, DAY_MS - 65_536, DAY_MS - 1),
)
/** Ascending times; equal ones are common. */
const run = fc.oneof(
  fc.array(timeMs, { minLength: 1, maxLength: 40 }).map(ascending),
  fc
    .tuple(fc.array(timeMs, { minLength: 1, maxLength: 6 }), fc.integer({ min: 1, max: 60 }))
    .map(([times, copies]) => ascending(times.flatMap((ms) => Array<number>(copies).fill(ms)))),
)
/** With one long run at least, or times would not be split. */
const runs = fc
  .tuple(fc.array(run, { maxLength: 4 }), fc.array(timeMs, { minLength: 600, maxLength: 700 }))
  .map(([short, long]) => [...short.slice(0, 2), ascending(long), ...short.slice(2)])

describe('times in two parts', () => {
  test('are put together again', () => {
    fc.assert(
      fc.property(runs, (given) => {
        const { low, high, runRows } = split(given)
        expect(high.length).toBe(highWordsOf(runRows))
        expect(joined(low, high, runRows)).toEqual(given.flat())
      }),
    )
  })

  test('of some of the runs are put together without the others', () => {
    fc.assert(
      fc.property(runs, fc.nat(4), fc.nat(4), (given, skipped, kept) => {
        const { low, high, runRows } = split(given)
        const before = runRows.slice(0, skipped)
        const wanted = runRows.slice(skipped, skipped + kept)
        const firstRow = before.reduce((sum, count) => sum + count, 0)
        const firstWord = highWordsOf(before)
        const times = joined(
          low.subarray(firstRow, firstRow + wanted.reduce((sum, count) => sum + count, 0)),
          high.subarray(firstWord, firstWord + highWordsOf(wanted)),
          wanted,
        )
        expect(times).toEqual(given.slice(skipped, skipped + kept).flat())
      }),
    )
  })

  test('have the lower half of each time, and one bit a row at its upper half and its place', () => {
    fc.assert(
      fc.property(runs, (given) => {
        const { low, high } = split(given)
        expect([...low]).toEqual(given.flat().map((ms) => ms % 65_536))
        const expected = given.flatMap((times) => {
          const bits = Array<number>(Math.ceil((times.length + 1_319) / 32) * 32).fill(0)
          for (const [row, ms] of times.entries()) bits[Math.floor(ms / 65_536) + row] = 1
          return bits
        })
        const bits = [...high].flatMap((word) =>
          Array.from({ length: 32 }, (_, bit) => Math.floor(word / 2 ** bit) % 2),
        )
        expect(bits).toEqual(expected)
      }),
      { numRuns: 20 },
    )
  })

  test('are not made where that would take more than times as they are', () => {
    for (const rowCount of [0, 1, 88, 89, 500]) {
      const times = new Uint32Array(rowCount)
      const parts = splitTimes(times, rowCount === 0 ? [] : [rowCount])
      expect(parts === null).toBe(rowCount < 89)
    }
    expect(splitTimes(new Uint32Array(500), Array<number>(50).fill(10))).toBeNull()
  })

  test('of too few or too many bits are an error', () => {
    const { low, high, runRows } = split([Array<number>(600).fill(70_000)])
    for (const changed of [0, 1]) {
      const damaged = high.slice()
      damaged[0] = changed === 0 ? damaged[0]! & (damaged[0]! - 1) : damaged[0]! | 1
      expect(() => joined(low, damaged, runRows)).toThrow('times: bits and rows differ')
    }
  })

  test('with a bit after the last row is an error', () => {
    const { low, high, runRows } = split([Array<number>(600).fill(70_000)])
    high[high.length - 1] = 1
    expect(() => joined(low, high, runRows)).toThrow(/^times: /)
  })

  test('with words cut off are an error', () => {
    const { low, high, runRows } = split([Array<number>(600).fill(70_000), [1, 2, 3]])
    const cut = high.subarray(0, highWordsOf([600]))
    expect(() => joined(low, cut, runRows)).toThrow(/^times: /)
  })
})

function ascending(times: readonly number[]): number[] {
  return times.toSorted((a, b) => a - b)
}

function split(given: readonly (readonly number[])[]) {
  const runRows = given.map(({ length }) => length)
  return { ...splitTimes(Uint32Array.from(given.flat()), runRows)!, runRows }
}

function joined(low: Uint16Array, high: Uint32Array, runRows: readonly number[]): number[] {
  const times = new Uint32Array(runRows.reduce((sum, count) => sum + count, 0))
  joinTimes({ low, high }, runRows, times)
  return [...times]
}
