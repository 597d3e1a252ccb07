export const DAY_MS = 86_400_000
export const HOUR_MS = 3_600_000
export const MINUTE_MS = 60_000

/** Returns the UTC day of a moment: whole days since 1970-01-01. */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS)
}

/** Returns the UTC month of a moment: whole months since 1970-01. */
export function monthOf(timeMs: number): number {
  const date = new Date(timeMs)
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth()
}

/** Returns the month of a UTC day, both counted from 1970. */
export function monthOfDay(day: number): number {
  return monthOf(day * DAY_MS)
}

/** Returns the first moment of a month counted from 1970-01. */
export function monthStartMs(month: number): number {
  return Date.UTC(1970, month, 1)
}
