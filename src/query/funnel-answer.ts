import type { FunnelResult, FunnelStepResult } from '../analysis/funnel-result.ts'
import type { FunnelSpec } from '../analysis/funnel-spec.ts'
import { DAY_MS } from '../event/day.ts'
import type { FunnelQuery } from '../wire/funnel-query.ts'
import type { Range } from './range.ts'

/** What is shown of the counts of a range, at the moment `asOfMs`. */
export function presentFunnel(
  query: FunnelQuery,
  spec: FunnelSpec,
  { steps, breakdown, trend, timeToConvert }: FunnelResult,
  asOfMs: number,
) {
  const labelled = (counted: readonly FunnelStepResult[]) =>
    counted.map((step, index) => ({ label: labelOf(query.steps[index]!), ...step }))
  return {
    steps: labelled(steps),
    ...(breakdown && {
      breakdown: breakdown.map((part) => ({ value: part.value, steps: labelled(part.steps) })),
    }),
    ...(trend && {
      trend: trend.map((counted, index) => ({
        from: new Date(spec.trendStartsMs![index]!).toISOString(),
        steps: labelled(counted),
        open: isOpen(spec, spec.trendStartsMs![index + 1]!, asOfMs),
      })),
    }),
    ...(timeToConvert && presentTimes(timeToConvert)),
  }
}

function presentTimes({
  histogram,
  areExact: _,
  ...inAll
}: NonNullable<FunnelResult['timeToConvert']>) {
  return { timeToConvert: inAll, histogram }
}

/** Whether a chain that begins in an interval may still go on. */
function isOpen(
  { entryEndMs, lastEndMs, windowMs }: FunnelSpec,
  intervalEndMs: number,
  asOfMs: number,
): boolean {
  const lastEntryMs = Math.min(intervalEndMs, entryEndMs) - 1
  return Math.min(lastEntryMs + windowMs, lastEndMs - 1) >= asOfMs
}

function labelOf({ label, event, anyOf }: FunnelQuery['steps'][number]): string {
  if (label !== undefined) return label
  if (anyOf !== undefined) return anyOf.map((alternative) => alternative.event).join(' or ')
  return event ?? 'any event'
}

/** The property whose values are counted; null: users are, or what is counted of them. */
export function countByOf({ count }: FunnelQuery): string | null {
  return typeof count === 'string' ? null : count.property
}

/** Names what the steps count. */
export function unitOf({ count, hold }: FunnelQuery): string {
  const counted = typeof count === 'string' ? count : count.property
  return [counted, ...hold].join(' × ')
}

/** What was counted, in one sentence. */
export function definitionOf(query: FunnelQuery, range: Range): string {
  const { windowMs, rangeBounds, entry } = query
  const [start, end] = [range.startMs, range.endMs].map((ms) => new Date(ms).toISOString())
  const later = rangeBounds === 'all' ? 'and so are later steps' : 'while later steps may be later'
  const first = entry === 'first' ? 'the first entry there' : 'which is'
  return (
    `${countedOf(query)} by their ${chainOf(query)}, all within ${durationText(windowMs)} ` +
    `of the chain's first event, ${first} from ${start} to before ${end}, ` +
    `${later}${exclusionsOf(query)}${splitOf(query)}.`
  )
}

function countedOf({ count, hold }: FunnelQuery): string {
  const units = {
    users: 'Users',
    attempts: 'Attempts (a running one swallows further entries)',
    sessions: 'Sessions (of one session id, else ended by 30 minutes of silence)',
  }
  const counted =
    typeof count === 'string' ? units[count] : `Values of ${count.property}, across users,`
  return hold.length === 0 ? counted : `${counted} with equal ${hold.join(', ')}`
}

function chainOf({ order, count, steps }: FunnelQuery): string {
  const events = typeof count === 'string' ? 'distinct events' : 'distinct events that have it'
  if (order === 'any') return `largest set of distinct steps with ${events}, in any order`
  const optional = steps.some((step) => step.optional) ? ', optional ones left out or not' : ''
  const strict = order === 'strict' ? ' and no other event in between' : ''
  return `longest chain of ${events} in step order${optional}${strict}`
}

function exclusionsOf({ exclude, order }: FunnelQuery): string {
  const parts = exclude.map(({ event, afterStep, beforeStep }) =>
    order === 'any' ? event : `${event} after step ${afterStep} and before step ${beforeStep}`,
  )
  return parts.length === 0 ? '' : `, without ${parts.join(', ')}`
}

function splitOf({ breakdown }: FunnelQuery): string {
  if (breakdown === null) return ''
  const { property, attribution, step } = breakdown
  const where = {
    first: 'the first value in that chain',
    last: 'the last value in that chain',
    step: `the value at step ${step} of that chain`,
    every: 'each value that all steps have',
  }
  return `, split by ${property}: ${where[attribution]}`
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
