import { styleText } from 'node:util'
import { OTHER } from '../analysis/funnel-result.ts'
import { drawSteps } from './draw-steps.ts'
import { drawHistogram, timesText } from './draw-times.ts'
import { drawTrend } from './draw-trend.ts'
import type { FunnelAnswer, FunnelRange, FunnelSteps } from './funnel-answer.ts'
import { printable } from './printable.ts'

/**
 * Draws an answer for people, in lines of `width` characters where it can: the whole and each value of the
 * breakdown, what else was asked for, then what the figures rest on.
 */
export function drawFunnel(answer: FunnelAnswer, width: number): string {
  const { steps, breakdown, compare, timeToConvert, warnings, definition } = answer
  const shown = {
    withTimes: timeToConvert !== undefined,
    withCompared: compare !== undefined,
    width,
  }
  const comparedParts = comparableParts(answer)
  return [
    drawSteps(steps, compare?.steps ?? null, shown),
    ...breakdown.map(
      (part) =>
        `${bold(part.value)}\n${drawSteps(part.steps, comparedParts.get(part.value) ?? null, shown)}`,
    ),
    ...timesBlocks(answer, width),
    ...trendBlocks(answer, width),
    ...warnings.map((warning) => styleText('yellow', printable(warning))),
    ...(steps[0]?.users === 0
      ? ['Nobody: is it of another time? --from and --to ask for it.']
      : []),
    styleText('dim', printable(definition)),
    styleText('dim', restsOn(answer)),
  ].join('\n\n')
}

/** The steps of the other range by value, but for those that stand for other values there. */
function comparableParts({ breakdown, compare }: FunnelAnswer): Map<string, FunnelSteps> {
  const parts = new Map(compare?.breakdown.map(({ value, steps }) => [value, steps]))
  const areSame =
    breakdown.length === parts.size && breakdown.every(({ value }) => parts.has(value))
  if (!areSame) parts.delete(OTHER)
  return parts
}

function timesBlocks(answer: FunnelAnswer, width: number): string[] {
  const { steps, timeToConvert, compare, histogram, unit } = answer
  if (timeToConvert === undefined || steps.length < 2) return []
  const lines = [
    `from the first step to the last: ${timesText(timeToConvert)}`,
    ...(compare?.timeToConvert ? [`compared: ${timesText(compare.timeToConvert)}`] : []),
    'times of a step are from the one before it',
  ]
  const drawn = histogram.length === 0 ? [] : [drawHistogram(histogram, unit, width)]
  return [lines.join('\n'), ...drawn]
}

function trendBlocks({ trend, compare }: FunnelAnswer, width: number): string[] {
  const trends: [string, FunnelRange['trend']][] = [
    ['by the time of the entry', trend],
    ['compared', compare?.trend ?? []],
  ]
  const blocks = trends.flatMap(([title, intervals]) =>
    intervals.length === 0 ? [] : [`${bold(title)}\n${drawTrend(intervals, width)}`],
  )
  const isAnyOpen = trends.some(([, intervals]) => intervals.some(({ open }) => open))
  return [...blocks, ...(isAnyOpen ? ['open: later steps of these may still come'] : [])]
}

function restsOn({ unit, asOf, read, tookMs, compare }: FunnelAnswer): string {
  const cost = `read ${read.events} events of ${read.partitions} partitions in ${tookMs.total} ms`
  const lines = [
    `${printable(unit)}, as of ${asOf}; ${cost}`,
    ...(compare ? [`compared with ${compare.from} to before ${compare.to}`] : []),
  ]
  return lines.join('\n')
}

function bold(text: string): string {
  return styleText('bold', printable(text))
}
