import { bar, duration } from './figures.ts'
import type { FunnelRange } from './funnel-answer.ts'
import { tableWithBars } from './table-with-bars.ts'

const ROWS_MAX = 20

type Histogram = FunnelRange['histogram']

/** Tells how long it took from the first step to the last. */
export function timesText({
  medianMs,
  meanMs,
  p90Ms,
}: NonNullable<FunnelRange['timeToConvert']>): string {
  return `median ${duration(medianMs)}, mean ${duration(meanMs)}, p90 ${duration(p90Ms)}`
}

/** Draws how many took how long: neighbours put together where there are too many to be seen at once. */
export function drawHistogram(histogram: Histogram, unit: string, width: number): string {
  const size = Math.ceil(histogram.length / ROWS_MAX)
  const rows = histogram.flatMap((first, index) =>
    index % size === 0 ? [together(first, histogram.slice(index + 1, index + size))] : [],
  )
  const most = Math.max(...rows.map(({ users }) => users))
  return tableWithBars(
    ['from', 'to', unit],
    rows.map(({ fromMs, toMs, users }) => [duration(fromMs), duration(toMs), users]),
    { at: 3, width, bar: (index, barWidth) => bar(rows[index]!.users / most, barWidth) },
  )
}

function together(first: Histogram[number], others: Histogram): Histogram[number] {
  return {
    fromMs: first.fromMs,
    toMs: others.at(-1)?.toMs ?? first.toMs,
    users: others.reduce((sum, { users }) => sum + users, first.users),
  }
}
