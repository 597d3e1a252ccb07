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
  if (hour > 23 || minute > 59 || second > 59) return null
  const localMs = Date.UTC(year, month - 1, day, hour, minute, second, ms)
  const date = new Date(localMs)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null
  const offsetMinutes = Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0)
  return localMs - (match[8] === '-' ? -1 : 1) * offsetMinutes * 60_000
}
