import { expect, test } from 'vitest'
import { INTERVALS_MAX, intervalStarts } from '../../../src/query/intervals.ts'

const zone = { path: 'trend', timeZone: 'America/New_York', weekStart: 1 }
const HOUR_MS = 3_600_000

test('as many intervals as are allowed are told, and one more is refused at its field', () => {
  const range = (hours: number) => ({ startMs: 0, endMs: hours * HOUR_MS })
  expect(intervalStarts(range(INTERVALS_MAX), 'hour', zone)).toHaveLength(INTERVALS_MAX + 1)
  expect(() => intervalStarts(range(INTERVALS_MAX + 1), 'hour', zone)).toThrow(/^trend: more than/)
})

test('10,000 days, weeks and months are told', () => {
  for (const [unit, endMs] of [
    ['day', Date.parse('1997-05-18T04:00:00Z')],
    ['week', Date.parse('2161-01-01T00:00:00Z')],
    ['month', Date.parse('2800-01-01T00:00:00Z')],
  ] as const)
    expect(intervalStarts({ startMs: 0, endMs }, unit, zone).length).toBeGreaterThan(9_900)
})

test('far too many are refused without walking through them', () => {
  const range = { startMs: Date.parse('0001-01-01'), endMs: Date.parse('9999-01-01') }
  const startMs = performance.now()
  for (let time = 0; time < 1_000; time++)
    expect(() => intervalStarts(range, 'hour', zone)).toThrow('trend: more than')
  expect(performance.now() - startMs).toBeLessThan(5_000)
})
