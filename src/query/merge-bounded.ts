import type { Funnel } from '../analysis/funnel.ts'
import type { FunnelCounts } from '../analysis/tally.ts'
import { AppError } from '../error.ts'

/** Of a breakdown: values times steps. A cell takes up to 100 bytes. */
const CELLS_MAX = 4_000_000
/** Cells that one with times counts for. */
const CELLS_WITH_TIMES = 8

/**
 * Merges counts of different users. Throws QUERY_TOO_LARGE where they are broken down by so many values that the
 * process might not hold them: nobody knows beforehand how many values convert.
 */
export function mergeBounded({ merge }: Funnel, a: FunnelCounts, b: FunnelCounts): FunnelCounts {
  const counts = merge(a, b)
  const cellsPerValue = (counts.users.length + 1) * (counts.times === null ? 1 : CELLS_WITH_TIMES)
  const valuesMax = Math.floor(CELLS_MAX / cellsPerValue)
  if ((counts.breakdown?.size ?? 0) <= valuesMax) return counts
  throw new AppError(
    'QUERY_TOO_LARGE',
    `this would be broken down by more than ${valuesMax} values: ` +
      'ask about fewer days, with fewer steps, or by a property with fewer values',
  )
}
