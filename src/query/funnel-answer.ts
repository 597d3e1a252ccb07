import type { FunnelResult } from '../analysis/funnel-result.ts'
import { DAY_MS } from '../event/day.ts'
import type { FunnelQuery } from '../wire/funnel-query.ts'
import type { Range } from './range.ts'

/** What is shown of the counts. */
export function presentFunnel(query: FunnelQuery, { steps, breakdown }: FunnelResult) {
  const labelled = (counted: FunnelResult['steps']) =>
    counted.map((step, index) => ({
      label: labelOf(query.steps[index]!),
      ...step,
      medianMs: null,
      meanMs: null,
    }))
  return {
    steps: labelled(steps),
    ...(breakdown === null
      ? {}
      : {
          breakdown: breakdown.map((part) => ({ value: part.value, steps: labelled(part.steps) })),
        }),
  }
}

function labelOf({ label, event, anyOf }: FunnelQuery['steps'][number]): string {
  if (label !== undefined) return label
  if (anyOf !== undefined) return anyOf.map((alternative) => alternative.event).join(' or ')
  return event ?? 'any event'
}

/** The property whose values are counted; null: users are. */
export function countByOf({ count }: FunnelQuery): string | null {
  return count === 'users' ? null : count.property
}

/** What was counted, in one sentence. */
export function definitionOf(query: FunnelQuery, range: Range): string {
  const { windowMs, rangeBounds, breakdown } = query
  const countBy = countByOf(query)
  const unit = countBy === null ? 'Users' : `Values of ${countBy}, across users,`
  const events = countBy === null ? 'distinct events' : 'distinct events that have it'
  const [start, end] = [range.startMs, range.endMs].map((ms) => new Date(ms).toISOString())
  const later = rangeBounds === 'all' ? 'and so are later steps' : 'while later steps may be later'
  const split =
    breakdown === null ? '' : `, split by ${breakdown.property} at the first step of that chain`
  return (
    `${unit} by their longest chain of ${events} in step order, all within ${durationText(windowMs)} ` +
    `of the chain's first event, which is from ${start} to before ${end}, ${later}${split}.`
  )
}

/** In the largest unit that divides it. */
function durationText(durationMs: number): string {
  const units = [
    [DAY_MS, 'days'],
    [3_600_000, 'hours'],
    [60_000, 'minutes'],
    [1_000, 'seconds'],
  ] as const
  const [unitMs, unit] = units.find(([ms]) => durationMs % ms === 0) ?? [1, 'milliseconds']
  return `${durationMs / unitMs} ${unit}`
}
