import { Temporal } from '@js-temporal/polyfill'
import { AppError } from '../error.ts'
import type { Range } from './range.ts'

/** More would be an answer that nobody looks at. */
export const INTERVALS_MAX = 10_000

/**
 * Returns when each interval begins that overlaps a range, ascending, and as the last entry when the last
 * one ends: days, weeks and months of a time zone, changes of its clocks included. Weeks begin on the weekday
 * `weekStart` (ISO: 1 Monday to 7 Sunday). Throws INVALID_QUERY for too many.
 */
export function intervalStarts(
  { startMs, endMs }: Range,
  unit: 'minute' | 'hour' | 'day' | 'week' | 'month',
  { timeZone, weekStart }: { readonly timeZone: string; readonly weekStart: number },
): number[] {
  const starts: number[] = []
  for (const atMs of unit === 'minute' || unit === 'hour'
    ? clockStarts(startMs, unit, timeZone)
    : dateStarts(startMs, unit, { timeZone, weekStart })) {
    starts.push(atMs)
    if (atMs >= endMs) break
    if (starts.length > INTERVALS_MAX) {
      const message = `more than ${INTERVALS_MAX} of them: ask about less time, or larger intervals`
      throw new AppError('INVALID_QUERY', `interval: ${message}`, {
        faults: [{ path: 'interval', message }],
      })
    }
  }
  return starts
}

function* clockStarts(startMs: number, unit: 'minute' | 'hour', timeZone: string) {
  let at = Temporal.Instant.fromEpochMilliseconds(startMs)
    .toZonedDateTimeISO(timeZone)
    .round({ smallestUnit: unit, roundingMode: 'floor' })
  for (; ; at = at.add({ [`${unit}s`]: 1 })) yield at.epochMilliseconds
}

/** By dates, since a day may lack its first hour. */
function* dateStarts(
  startMs: number,
  unit: 'day' | 'week' | 'month',
  { timeZone, weekStart }: { readonly timeZone: string; readonly weekStart: number },
) {
  const date = Temporal.Instant.fromEpochMilliseconds(startMs)
    .toZonedDateTimeISO(timeZone)
    .toPlainDate()
  const daysInto = { day: 0, week: (date.dayOfWeek - weekStart + 7) % 7, month: date.day - 1 }
  let at = date.subtract({ days: daysInto[unit] })
  for (; ; at = at.add({ [`${unit}s`]: 1 })) yield at.toZonedDateTime(timeZone).epochMilliseconds
}
