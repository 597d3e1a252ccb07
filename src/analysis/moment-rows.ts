import type { Moments } from './moments.ts'
import { lowestStep, stepCountOf } from './step-bits.ts'

/**
 * Returns the rows of a moment that steps of a mask may be given to, in the order of `compare` (null: any). A row is
 * left out if each of its steps has as many rows before it as there are steps: one of these is always free.
 */
export function momentRows(
  { from, events }: Moments,
  at: number,
  steps: number,
  compare: ((codeA: number, codeB: number) => number) | null,
): number[] {
  const rows: number[] = []
  for (let row = from[at]!; row < from[at + 1]!; row++)
    if ((events.mask[row]! & steps) !== 0) rows.push(row)
  if (compare !== null) rows.sort((a, b) => compare(events.code[a]!, events.code[b]!))
  const stepCount = stepCountOf(steps)
  const rowsOf = new Int32Array(32)
  return rows.filter((row) => {
    let isNeeded = false
    for (let rest = events.mask[row]! & steps; rest !== 0; rest &= rest - 1)
      isNeeded = rowsOf[lowestStep(rest)]!++ < stepCount || isNeeded
    return isNeeded
  })
}
