import fc from 'fast-check'
import { expect, test } from 'vitest'
import { growRows, mergeRuns, openRows, type Span } from '../../src/analysis/merge-runs.ts'

interface Row {
  readonly timeMs: number
  readonly user: number
  readonly mask: number
}

const aRun = (timeMsMax: number): fc.Arbitrary<Row[]> =>
  fc
    .array(
      fc.record({
        timeMs: fc.nat(timeMsMax),
        user: fc.nat(2 ** 32 - 1),
        mask: fc.nat(2 ** 32 - 1),
      }),
      { minLength: 1, maxLength: 30, size: 'max' },
    )
    .map((rows) => rows.toSorted((a, b) => a.timeMs - b.timeMs))

// Few times, so that most are met in several runs; or all of a day.
const someRuns = fc
  .constantFrom(9, 86_399_999)
  .chain((timeMsMax) => fc.array(aRun(timeMsMax), { maxLength: 9, size: 'max' }))

test('merged rows are those of all runs, in time order, each with all of its columns', () => {
  fc.assert(
    fc.property(someRuns, (runs) => {
      const merged = merge(runs)
      const times = merged.map(({ timeMs }) => timeMs)
      expect(times).toEqual(times.toSorted((a, b) => a - b))
      expect(merged.toSorted(anyOrder)).toEqual(runs.flat().toSorted(anyOrder))
    }),
  )
})

test('rows of one run stay in their order', () => {
  fc.assert(
    fc.property(someRuns, (runs) => {
      const told = runs.map((run, user) => run.map((row, mask) => ({ ...row, user, mask })))
      const merged = merge(told)
      told.forEach((run, user) => {
        expect(merged.filter((row) => row.user === user)).toEqual(run)
      })
    }),
  )
})

test('64 runs of 10 rows beside one of 100,000 are merged', () => {
  const every = (count: number, gapMs: number, user: number) =>
    Array.from({ length: count }, (_, n) => ({ timeMs: n * gapMs, user, mask: n }))
  const runs = [
    every(100_000, 860, 0),
    ...Array.from({ length: 64 }, (_, n) => every(10, 99 * n, 1)),
  ]
  const times = merge(runs).map(({ timeMs }) => timeMs)
  expect(times).toEqual(
    runs
      .flat()
      .map(({ timeMs }) => timeMs)
      .toSorted((a, b) => a - b),
  )
})

function merge(runs: readonly (readonly Row[])[]): Row[] {
  const rows = openRows()
  const spans: Span[] = []
  for (const run of runs) {
    const from = spans.at(-1)?.to ?? 0
    growRows(rows, from + run.length)
    run.forEach((row, index) => {
      rows.timeMs[from + index] = row.timeMs
      rows.user[from + index] = row.user
      rows.mask[from + index] = row.mask
    })
    spans.push({ from, to: from + run.length })
  }
  const { from, to } = mergeRuns(rows, spans)
  return Array.from({ length: to - from }, (_, index) => ({
    timeMs: rows.timeMs[from + index]!,
    user: rows.user[from + index]!,
    mask: rows.mask[from + index]!,
  }))
}

function anyOrder(a: Row, b: Row): number {
  return a.timeMs - b.timeMs || a.user - b.user || a.mask - b.mask
}
