const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const

/** Stands for a figure that there is not. */
export const NO_FIGURE = '–'

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** A share of 1 as percent, for people. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}

/** A difference of two shares of 1, in percentage points. */
export function points(difference: number): string {
  const rounded = (100 * difference).toFixed(1)
  return `${Number(rounded) > 0 ? '+' : ''}${Number(rounded) === 0 ? '0.0' : rounded} pp`
}

/** A duration in its largest unit, to two figures at least: 340 ms, 4.5 min, 12 d. */
export function duration(durationMs: number | null): string {
  if (durationMs === null) return NO_FIGURE
  const [unitMs, unit] = UNITS.find(([ms]) => durationMs >= ms) ?? [1, 'ms']
  const count = durationMs / unitMs
  return `${unit === 'ms' || count >= 9.95 ? Math.round(count) : count.toFixed(1)} ${unit}`
}

/** A bar of a share of `width` characters, to an eighth of one. */
export function bar(share: number, width: number): string {
  const eighths = Math.round(8 * width * Math.min(share, 1))
  return '█'.repeat(eighths >> 3) + EIGHTHS[eighths & 7]!
}
