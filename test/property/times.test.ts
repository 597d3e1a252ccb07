import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  areExact,
  EXACT_TIMES_MAX,
  histogramOf,
  mergeTimes,
  NO_TIMES,
  timesOf,
  timesResult,
} from '../../src/analysis/times.ts'

const aTime = fc.oneof(fc.nat(5_000), fc.nat())
const someTimes = fc.array(aTime, { maxLength: 12 })

/** The value at a share of the way through all values in order, interpolated between neighbours. */
function quantileOf(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b)
  const at = share * (sorted.length - 1)
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]]
  return low === undefined || high === undefined ? null : low + (high - low) * (at % 1)
}

const meanOf = (values: readonly number[]) =>
  values.length === 0 ? null : values.reduce((all, one) => all + one, 0) / values.length

const rounded = (ms: number | null) => ms && Math.round(ms)

test('few times are told exactly, in whatever parts they come', () => {
  fc.assert(
    fc.property(fc.array(someTimes, { maxLength: 4 }), (parts) => {
      const all = parts.flat()
      const times = parts.map(timesOf).reduce(mergeTimes, NO_TIMES)
      expect(areExact(times)).toBe(true)
      expect(timesResult(times)).toEqual({
        medianMs: rounded(quantileOf(all, 0.5)),
        meanMs: rounded(meanOf(all)),
        p90Ms: rounded(quantileOf(all, 0.9)),
      })
    }),
  )
})

// Few values, each so often that there are too many of them.
const manyTimes = fc.array(aTime, { minLength: 1, maxLength: 12 }).map((values) => {
  const count = Math.ceil((EXACT_TIMES_MAX + 1) / values.length)
  return Array.from({ length: count }, () => values).flat()
})

test('of many times quantiles are told to within 0.1 %, the mean exactly', () => {
  fc.assert(
    fc.property(manyTimes, (all) => {
      const times = timesOf(all)
      expect(areExact(times)).toBe(false)
      const told = timesResult(times)
      for (const [ms, share] of [
        [told.medianMs!, 0.5],
        [told.p90Ms!, 0.9],
      ] as const) {
        const exactMs = quantileOf(all, share)!
        expect(Math.abs(ms - exactMs)).toBeLessThanOrEqual(exactMs / 1_000 + 0.5)
      }
      expect(told.meanMs).toBe(rounded(meanOf(all)))
    }),
    { numRuns: 10 },
  )
})

test('many times are told alike, in whatever parts they come', () => {
  fc.assert(
    fc.property(manyTimes, someTimes, fc.nat(EXACT_TIMES_MAX), (all, few, at) => {
      const whole = timesResult(timesOf([...all, ...few]))
      const [a, b, c] = [timesOf(all.slice(0, at)), timesOf(all.slice(at)), timesOf(few)]
      for (const merged of [mergeTimes(mergeTimes(a, b), c), mergeTimes(c, mergeTimes(b, a))])
        expect(timesResult(merged)).toEqual(whole)
    }),
    { numRuns: 10 },
  )
})

test('the bars of a histogram are side by side, and hold each time once', () => {
  fc.assert(
    fc.property(someTimes, (values) => {
      const bars = histogramOf(timesOf(values))
      bars.forEach(({ fromMs, toMs, users }, index) => {
        expect(fromMs).toBe(index === 0 ? Math.min(...values) : bars[index - 1]!.toMs)
        expect(users).toBe(values.filter((ms) => ms >= fromMs && ms < toMs).length)
      })
      expect(bars.reduce((all, { users }) => all + users, 0)).toBe(values.length)
    }),
  )
})
