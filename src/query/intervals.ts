import { Temporal } from '@js-temporal/polyfill'
import { AppError } from '../error.ts'
import type { Range } from './range.ts'

/** More would be an answer that nobody looks at. */
export const INTERVALS_MAX = 10_000
/** The longest that there are, with an hour or two for changes of the clocks. */
const LENGTH_MS_MAX = {
  minute: 60_000,
  hour: 3_600_000,
  day: 26 * 3_600_000,
  week: 170 * 3_600_000,
  month: 746 * 3_600_000,
}

/**
 * Returns when each interval begins that overlaps a range, ascending, and as the last entry when the last
 * one ends: days, weeks and months of a time zone, changes of its clocks included. Weeks begin on the weekday
 * `weekStart` (ISO: 1 Monday to 7 Sunday). Throws INVALID_QUERY for too many, at the field `path`.
 */
export function intervalStarts(
  { startMs, endMs }: Range,
  unit: 'minute' | 'hour' | 'day' | 'week' | 'month',
  {
    path,
    ...zone
  }: { readonly path: string; readonly timeZone: string; readonly weekStart: number },
): number[] {
  const starts: number[] = []
  // Clocks and calendars are slow.
  if ((endMs - startMs) / LENGTH_MS_MAX[unit] > INTERVALS_MAX) throw tooMany(path)
  for (const atMs of unit === 'minute' || unit === 'hour'
    ? clockStarts(startMs, unit, zone.timeZone)
    : dateStarts(startMs, unit, zone)) {
    starts.push(atMs)
    if (atMs >= endMs) break
    if (starts.length > INTERVALS_MAX) throw tooMany(path)
  }
  return starts
}

function tooMany(path: string): AppError {
  const message = `more than ${INTERVALS_MAX} of them: ask about less time, or larger intervals`
  return new AppError('INVALID_QUERY', `${path}: ${message}`, { faults: [{ path, message }] })
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
