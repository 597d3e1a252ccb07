import { printable } from './printable.ts'

/** Draws rows below their header, for people; numbers stand at the right of their column. */
export function table(
  header: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  const lines = [header, ...rows].map((row) => row.map((cell) => printable(String(cell))))
  const isNumber = header.map((_, column) => typeof rows[0]?.[column] === 'number')
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          isNumber[column] ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
