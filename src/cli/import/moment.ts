import { Temporal } from '@js-temporal/polyfill'
import { parseIsoTimeMs } from '../../event/time.ts'

const NUMBER = /^\d{9,14}(\.\d+)?$/
/** 2286 in seconds and 1970-04 in milliseconds: below it a number means seconds. */
const SECONDS_MAX = 10_000_000_000
const LOCAL = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?$/
const QUARTER_MS = 900_000
const CACHE_ENTRIES_MAX = 100_000

/**
 * Returns a function from a time as files have it to milliseconds since 1970, or null: ISO 8601 with a
 * zone (also `UTC`, also `+02`); a date, or date and time, without one, meant in `timeZone`; seconds or
 * milliseconds since 1970, told apart by size. A local time that occurs twice means the first; one
 * that is skipped is as far after the gap as it is into it. Numbers under nine digits are no times:
 * 20240313 would become a day in 1970.
 */
export function openMoments(timeZone: string): (text: string) => number | null {
  const quarters = new Map<string, number>()

  function localTimeMs([, date, clock, second, fraction]: RegExpExecArray): number | null {
    const time = `${clock ?? '00:00'}:${second ?? '00'}.${fraction ?? '0'}`
    const asUtcMs = parseIsoTimeMs(`${date}T${time}Z`)
    if (asUtcMs === null || timeZone === 'UTC') return asUtcMs
    // Zones change their offset at quarters of an hour, and asking Temporal takes 0.1 ms.
    const quarterMs = Math.floor(asUtcMs / QUARTER_MS) * QUARTER_MS
    const key = new Date(quarterMs).toISOString().slice(0, 16)
    let startMs = quarters.get(key)
    if (startMs === undefined) {
      startMs = Temporal.PlainDateTime.from(key).toZonedDateTime(timeZone).epochMilliseconds
      if (quarters.size >= CACHE_ENTRIES_MAX) quarters.clear()
      quarters.set(key, startMs)
    }
    return startMs + (asUtcMs - quarterMs)
  }

  return (text) => {
    if (NUMBER.test(text)) {
      const number = Number(text)
      return Math.floor(number < SECONDS_MAX ? number * 1_000 : number)
    }
    const local = LOCAL.exec(text)
    if (local !== null) return localTimeMs(local)
    return parseIsoTimeMs(text.replace(/ ?UTC$/, 'Z').replace(/ ?([+-]\d\d)(:?\d\d)?$/, padded))
  }
}

function padded(_: string, hours: string, minutes = ':00'): string {
  return hours + minutes
}
