import { table } from './table.ts'

/** Bars are as wide as there is room, within these bounds. */
export const BAR_WIDTH_MAX = 40
export const BAR_WIDTH_MIN = 10

type Cells = readonly (string | number)[]

/**
 * Draws a table with a bar in each row before column `at`, in lines of `width` characters; without bars
 * where these would be too narrow.
 */
export function tableWithBars(
  header: readonly string[],
  rows: readonly Cells[],
  bars: {
    readonly at: number
    readonly width: number
    readonly bar: (rowIndex: number, barWidth: number) => string
  },
): string {
  const { at, width, bar } = bars
  const bare = table(header, rows)
  const barWidth = Math.min(width - textWidth(bare) - 2, BAR_WIDTH_MAX)
  if (barWidth < BAR_WIDTH_MIN) return bare
  return table(
    header.toSpliced(at, 0, ''),
    rows.map((row, index) => row.toSpliced(at, 0, bar(index, barWidth))),
  )
}

/** Returns how many characters the longest line has. */
export function textWidth(text: string): number {
  return Math.max(...text.split('\n').map((line) => line.length))
}
