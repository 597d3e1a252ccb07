import { describe, expect, test } from 'vitest'
import { constantStarts, rampingStarts } from '../../../loadtest/runner/schedule.ts'

describe('a constant arrival rate', () => {
  test('starts at once and goes on evenly, the end excluded', () => {
    const starts = constantStarts({ rate: 4, timeUnitMs: 1_000, durationMs: 1_000 })
    expect([...starts]).toEqual([0, 250, 500, 750])
  })

  test('counts by its time unit', () => {
    const starts = constantStarts({ rate: 3, timeUnitMs: 60_000, durationMs: 60_000 })
    expect([...starts]).toEqual([0, 20_000, 40_000])
  })
})

describe('a ramping arrival rate', () => {
  const starts = (startRate: number, ...stages: [durationMs: number, target: number][]) => [
    ...rampingStarts({
      startRate,
      timeUnitMs: 1_000,
      stages: stages.map(([durationMs, target]) => ({ durationMs, target })),
    }),
  ]

  test('that does not change starts the first when one is complete', () => {
    expect(starts(2, [2_000, 2])).toEqual([500, 1_000, 1_500, 2_000])
  })

  test('that rises from nothing has half of its last rate, ever closer', () => {
    const found = starts(0, [4_000, 2])
    expect(found.map(Math.round)).toEqual([2_000, 2_828, 3_464, 4_000])
  })

  test('that falls to nothing has them ever further apart', () => {
    expect(starts(2, [4_000, 0]).map(Math.round)).toEqual([536, 1_172, 2_000, 4_000])
  })

  test('carries what a stage does not complete into the next', () => {
    expect(starts(1, [1_500, 1], [1_500, 1])).toEqual([1_000, 2_000, 3_000])
  })

  test('jumps at a stage of no length', () => {
    expect(starts(1, [1_000, 1], [0, 4], [1_000, 4])).toEqual([1_000, 1_250, 1_500, 1_750, 2_000])
  })

  test('of nothing starts nothing', () => {
    expect(starts(0, [1_000, 0])).toEqual([])
  })
})
