import { bar, percent } from './figures.ts'
import type { FunnelRange } from './funnel-answer.ts'
import { tableWithBars, textWidth } from './table-with-bars.ts'

const MIDNIGHT = 'T00:00:00.000Z'

/**
 * Draws a trend of one interval or more, one a line: users by step, the share that reaches the last step,
 * and a mark where chains may still go on.
 */
export function drawTrend(trend: FunnelRange['trend'], width: number): string {
  const areDates = trend.every(({ from }) => from.endsWith(MIDNIGHT))
  const shares = trend.map(({ steps }) => steps.at(-1)!.fromFirst)
  const most = Math.max(...shares) || 1
  const rows = trend.map(({ from, steps, open }, index) => [
    areDates ? from.slice(0, -MIDNIGHT.length) : from,
    ...steps.map(({ users }) => users),
    percent(shares[index]!).padStart(7),
    open ? 'open' : '',
  ])
  const labels = trend[0]!.steps.map(({ label }, index) => `${index + 1} ${label}`)
  const draw = (names: readonly string[]) =>
    tableWithBars(['from', ...names, ' of all', ''], rows, {
      ...{ at: names.length + 2, width },
      bar: (index, barWidth) => bar(shares[index]! / most, barWidth),
    })
  const labelled = draw(labels)
  return textWidth(labelled) <= width ? labelled : draw(labels.map((_, index) => `${index + 1}`))
}
