const ISO =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:[Zz]|([+-])(\d\d):?(\d\d))$/

/**
 * Returns milliseconds since 1970 for an ISO 8601 time with a zone, else null. Digits beyond the
 * millisecond are cut off. Dates that no calendar has, such as 30 February, are null.
 */
export function parseIsoTimeMs(text: string): number | null {
  const match = ISO.exec(text)
  if (match === null) return null
  const [year, month, day, hour, minute, second] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0)) as [number, number, number, number, number, number]
  const ms = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3))
  const [offsetHours, offsetMinutes] = [Number(match[9] ?? 0), Number(match[10] ?? 0)]
  if (hour > 23 || minute > 59 || second > 59 || offsetHours > 23 || offsetMinutes > 59) return null
  // Not Date.UTC, to which the year 26 is 1926.
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null
  const localMs = date.setUTCHours(hour, minute, second, ms)
  return localMs - (match[8] === '-' ? -1 : 1) * (offsetHours * 60 + offsetMinutes) * 60_000
}
