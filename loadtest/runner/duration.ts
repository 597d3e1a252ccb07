const UNIT_MS: Record<string, number> = {
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
  us: 0.001,
  µs: 0.001,
  ns: 0.000_001,
}
const PART = /(\d+(?:\.\d+)?)(ms|us|µs|ns|d|h|m|s)/g

/** A duration as k6 writes it (`90s`, `1m30s`, a number is milliseconds), in milliseconds. Throws where it is none. */
export function durationMs(value: string | number): number {
  if (typeof value === 'number' && value >= 0) return value
  const text = String(value)
  const parts = [...text.matchAll(PART)]
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text)
    throw new Error(`"${text}" is no duration, such as 90s or 1m30s`)
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * UNIT_MS[unit!]!, 0)
}
