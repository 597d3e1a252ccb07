import { Temporal } from '@js-temporal/polyfill'
import { AppError } from '../error.ts'
import { DAY_MS } from '../event/day.ts'
import { parseIsoTimeMs } from '../event/time.ts'

const RANGE_MS_DEFAULT = 30 * DAY_MS
/** The years that ISO 8601 writes with four digits, in any zone. */
const TIME_MS_MIN = Date.parse('0000-01-01T00:00:00Z') - DAY_MS
const TIME_MS_MAX = Date.parse('9999-12-31T00:00:00Z') + 2 * DAY_MS
const DATE = /^\d{4}-\d\d-\d\d$/

/** The range of a question, start included, end excluded. */
export interface Range {
  readonly startMs: number
  readonly endMs: number
}

/**
 * Resolves the `from` and `to` of a question: ISO 8601 with a zone, milliseconds since 1970, or a date,
 * which means the start of that day in `timeZone`. The default is the last 30 days. Throws INVALID_QUERY.
 */
export function resolveRange(
  {
    from,
    to,
  }: { readonly from?: string | number | undefined; readonly to?: string | number | undefined },
  { timeZone, nowMs }: { readonly timeZone: string; readonly nowMs: number },
): Range {
  const endMs = to === undefined ? nowMs : momentMs(to, 'to', timeZone)
  const startMs = from === undefined ? endMs - RANGE_MS_DEFAULT : momentMs(from, 'from', timeZone)
  if (startMs > endMs) throw fault('from', 'later than to')
  return { startMs, endMs }
}

function momentMs(moment: string | number, path: string, timeZone: string): number {
  const timeMs =
    typeof moment === 'number'
      ? moment
      : DATE.test(moment)
        ? dateStartMs(moment, path, timeZone)
        : parseIsoTimeMs(moment)
  if (timeMs === null || timeMs < TIME_MS_MIN || timeMs > TIME_MS_MAX)
    throw fault(path, 'a date, ISO 8601 with a zone, or milliseconds since 1970')
  return timeMs
}

function dateStartMs(date: string, path: string, timeZone: string): number {
  try {
    return Temporal.PlainDate.from(date).toZonedDateTime(timeZone).epochMilliseconds
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw fault(path, `no such date, or no such time zone: ${date}, ${timeZone}`)
  }
}

function fault(path: string, message: string): AppError {
  return new AppError('INVALID_QUERY', `${path}: ${message}`, { faults: [{ path, message }] })
}
