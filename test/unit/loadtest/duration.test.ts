import { describe, expect, test } from 'vitest'
import { durationMs } from '../../../loadtest/runner/duration.ts'

describe('a duration', () => {
  test.each([
    ['90s', 90_000],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['2d', 172_800_000],
    ['250ms', 250],
    ['0s', 0],
    [1_500, 1_500],
  ])('%s is %d milliseconds', (text, ms) => {
    expect(durationMs(text)).toBe(ms)
  })

  test.each(['', '10', '10 s', 's', '10x', '-5s', '1m30', -1])('is not %j', (text) => {
    expect(() => durationMs(text)).toThrow('is no duration')
  })
})
