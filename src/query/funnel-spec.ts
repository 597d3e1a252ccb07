import { conditionFault, type Condition } from '../analysis/condition.ts'
import type { Exclusion, FunnelSpec, FunnelStep } from '../analysis/funnel-spec.ts'
import { AppError, type QueryFault } from '../error.ts'
import type { FunnelQuery } from '../wire/funnel-query.ts'
import { intervalStarts } from './intervals.ts'
import type { Range } from './range.ts'

/** Makes a checked question what the analysis folds. Throws INVALID_QUERY. */
export function specOf(
  query: FunnelQuery,
  range: Range,
  zone: { readonly timeZone: string; readonly weekStart: number },
): FunnelSpec {
  const { windowMs, rangeBounds, order, entry, count, hold, breakdown, trend } = query
  const { steps, exclude } = conditioned(query)
  return {
    ...{ steps, exclude, windowMs, order, entry, timeToConvert: query.timeToConvert },
    entryStartMs: range.startMs,
    entryEndMs: range.endMs,
    lastEndMs: rangeBounds === 'all' ? range.endMs : Infinity,
    count: typeof count === 'string' ? count : 'users',
    hold: [...new Set(hold)],
    breakdown: breakdown && { ...breakdown, step: breakdown.step - 1 },
    trendStartsMs: trend && intervalStarts(range, trend, { path: 'trend', ...zone }),
  }
}

function conditioned({ steps, exclude }: FunnelQuery): {
  steps: FunnelStep[]
  exclude: Exclusion[]
} {
  const faults: QueryFault[] = []
  const conditionsOf = (where: QueryStep['where'], path: string) =>
    where.map((asked, index) => {
      const condition = conditionOf(asked)
      const message = conditionFault(condition)
      if (message !== null) faults.push({ path: `${path}.${index}`, message })
      return condition
    })
  const checkedSteps = steps.map((step, index): FunnelStep => {
    const common = conditionsOf(step.where, `steps.${index}.where`)
    const alternatives = step.anyOf ?? [{ event: step.event ?? null, where: [] }]
    return {
      isOptional: step.optional,
      firstTime: step.firstTime === true ? 'event' : step.firstTime || null,
      matchers: alternatives.map(({ event, where }, at) => ({
        eventName: event,
        where: [...common, ...conditionsOf(where, `steps.${index}.anyOf.${at}.where`)],
      })),
    }
  })
  const checkedExclude = exclude.map(({ event, where, afterStep, beforeStep }, index) => ({
    matchers: [{ eventName: event, where: conditionsOf(where, `exclude.${index}.where`) }],
    ...{ afterStep: afterStep - 1, beforeStep: beforeStep - 1 },
  }))
  const [first] = faults
  if (first === undefined) return { steps: checkedSteps, exclude: checkedExclude }
  throw new AppError('INVALID_QUERY', `${first.path}: ${first.message}`, { faults })
}

type QueryStep = FunnelQuery['steps'][number]

/** Makes a condition as asked what is tested. A null is a missing value, in a question as in an event. */
export function conditionOf({ property, op, value }: QueryStep['where'][number]): Condition {
  if (value === null && op === 'eq') return { property, op: 'isNotSet' }
  if (value === null && op === 'ne') return { property, op: 'isSet' }
  return { property, op, value: value ?? undefined }
}
