import { Temporal } from '@js-temporal/polyfill'
import { AppError } from '../error.ts'
import type { Range } from './range.ts'

/** More would be an answer that nobody looks at. */
export const INTERVALS_MAX = 10_000

/**
 * Returns when each interval begins that overlaps a range, ascending, and as the last entry when the last
 * one ends: days and hours of a time zone, changes of its clocks included. Throws INVALID_QUERY for too many.
 */
export function intervalStarts(
  { startMs, endMs }: Range,
  unit: 'minute' | 'hour' | 'day',
  timeZone: string,
): number[] {
  const first = Temporal.Instant.fromEpochMilliseconds(startMs)
    .toZonedDateTimeISO(timeZone)
    .round({ smallestUnit: unit, roundingMode: 'floor' })
  const starts: number[] = []
  for (let at = first; ; at = at.add({ [`${unit}s`]: 1 })) {
    starts.push(at.epochMilliseconds)
    if (at.epochMilliseconds >= endMs) return starts
    if (starts.length > INTERVALS_MAX) {
      const message = `more than ${INTERVALS_MAX} of them: ask about less time, or larger intervals`
      throw new AppError('INVALID_QUERY', `interval: ${message}`, {
        faults: [{ path: 'interval', message }],
      })
    }
  }
}

/** Returns the index of the interval that holds a moment; -1 for one outside of them all. */
export function intervalAt(starts: readonly number[], timeMs: number): number {
  let low = 0
  let high = starts.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (starts[middle]! <= timeMs) low = middle + 1
    else high = middle
  }
  return low === starts.length ? -1 : low - 1
}
