import { duration, NO_FIGURE, percent, points } from './figures.ts'
import type { FunnelSteps } from './funnel-answer.ts'
import { printable } from './printable.ts'
import { BAR_WIDTH_MAX, BAR_WIDTH_MIN, tableWithBars } from './table-with-bars.ts'

type Step = FunnelSteps[number]
type Column = readonly [header: string, cell: (step: Step, index: number) => string | number]

/** How steps are drawn, besides their bars: with the times to them, and beside those of another range. */
export interface StepsShown {
  readonly withTimes: boolean
  readonly withCompared: boolean
  readonly width: number
}

/** Draws the steps of a funnel; `compared` is what they are compared with, null where there is nothing. */
export function drawSteps(
  steps: FunnelSteps,
  compared: FunnelSteps | null,
  { withTimes, withCompared, width }: StepsShown,
): string {
  if (!withTimes && !withCompared) return drawBars(steps, width)
  const columns: Column[] = [
    ['step', (step, index) => labelOf(step, index)],
    ['users', (step) => step.users],
    [' of all', (step) => percent(step.fromFirst).padStart(7)],
    ['of last', (step, index) => (index === 0 ? '' : percent(step.fromPrevious).padStart(7))],
    ...(withTimes ? TIMES : []),
    ...(withCompared ? comparedColumns(steps, compared) : []),
  ]
  return tableWithBars(
    columns.map(([header]) => header),
    steps.map((step, index) => columns.map(([, cell]) => cell(step, index))),
    { at: 1, width, bar: (index, barWidth) => barOf(steps[index]!, barWidth) },
  )
}

/** From the step before. */
const TIMES: Column[] = [
  ['median', ({ medianMs }, index) => (index === 0 ? '' : duration(medianMs))],
  ['mean', ({ meanMs }, index) => (index === 0 ? '' : duration(meanMs))],
  ['p90', ({ p90Ms }, index) => (index === 0 ? '' : duration(p90Ms))],
]

function comparedColumns(steps: FunnelSteps, compared: FunnelSteps | null): Column[] {
  const hasBoth = steps[0]?.users !== 0 && compared !== null && compared[0]?.users !== 0
  return [
    ['compared', (_, index) => compared?.[index]?.users ?? NO_FIGURE],
    [
      'change',
      ({ fromFirst }, index) => {
        if (index === 0) return ''
        return hasBoth ? points(fromFirst - compared[index]!.fromFirst) : NO_FIGURE
      },
    ],
  ]
}

/** In words, which need no header. */
function drawBars(steps: FunnelSteps, width: number): string {
  const labels = steps.map((step, index) => printable(labelOf(step, index)))
  const labelWidth = Math.max(...labels.map((label) => label.length))
  const words = steps.map(({ users, fromPrevious, fromFirst }, index) =>
    index === 0
      ? String(users)
      : `${users}  ${percent(fromFirst)} of all, ${percent(fromPrevious)} of the last`,
  )
  const room = width - labelWidth - Math.max(...words.map((text) => text.length)) - 2
  const barWidth = Math.max(Math.min(room, BAR_WIDTH_MAX), BAR_WIDTH_MIN)
  return steps
    .map(
      (step, index) =>
        `${labels[index]!.padEnd(labelWidth)} ${barOf(step, barWidth)} ${words[index]}`,
    )
    .join('\n')
}

function labelOf({ label }: Step, index: number): string {
  return `${index + 1} ${label}`
}

function barOf({ fromFirst }: Step, barWidth: number): string {
  return '█'.repeat(Math.round(barWidth * Math.min(fromFirst, 1))).padEnd(barWidth, '░')
}
