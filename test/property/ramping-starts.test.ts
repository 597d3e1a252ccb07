import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rampingStarts } from '../../loadtest/runner/schedule.ts'

const STEP_MS = 1

const stage = fc.record({
  durationMs: fc.integer({ min: 0, max: 2_000 }),
  target: fc.integer({ min: 0, max: 40 }),
})
const plans = fc.record({
  startRate: fc.integer({ min: 0, max: 40 }),
  stages: fc.array(stage, { minLength: 1, maxLength: 4 }),
})
type Plan = typeof plans extends fc.Arbitrary<infer T> ? T : never

test('the n-th iteration starts when the integral of the rate is n', () => {
  fc.assert(
    fc.property(plans, (plan) => {
      const starts = [...rampingStarts({ ...plan, timeUnitMs: 1_000 })]
      starts.forEach((ms, index) => expect(integral(plan, ms)).toBeCloseTo(index + 1, 6))
      expect(starts).toEqual(starts.toSorted((a, b) => a - b))
      // As many as are complete; where the integral ends at a whole number, rounding decides.
      const all = integral(plan, Infinity)
      expect(starts.length).toBeLessThan(all + 1e-6)
      expect(starts.length).toBeGreaterThan(all - 1 - 1e-6)
    }),
    { numRuns: 100 },
  )
})

/** How many iterations are due until a moment: the rate, added up in small steps. */
function integral({ startRate, stages }: Plan, untilMs: number): number {
  let [beganMs, from, sum] = [0, startRate, 0]
  for (const { durationMs, target } of stages) {
    const rateAt = (ms: number) => from + ((target - from) * ms) / durationMs
    const endMs = Math.min(durationMs, untilMs - beganMs)
    for (let ms = 0; ms < endMs; ms += STEP_MS) {
      const stepMs = Math.min(STEP_MS, endMs - ms)
      sum += (rateAt(ms + stepMs / 2) * stepMs) / 1_000
    }
    beganMs += durationMs
    from = target
  }
  return sum
}
