import type { FunnelSpec } from '../analysis/funnel.ts'
import { conditionFault, type Condition } from '../analysis/condition.ts'
import type { Step } from '../analysis/step-mask.ts'
import { AppError, type QueryFault } from '../error.ts'
import type { FunnelQuery } from '../wire/funnel-query.ts'
import type { Range } from './range.ts'

/** Makes a checked question what the analysis folds. Throws INVALID_QUERY. */
export function specOf(query: FunnelQuery, { startMs, endMs }: Range): FunnelSpec {
  const { windowMs, rangeBounds, breakdown } = query
  return {
    steps: stepsOf(query),
    windowMs,
    entryStartMs: startMs,
    entryEndMs: endMs,
    lastEndMs: rangeBounds === 'all' ? endMs : Infinity,
    breakdown: breakdown === null ? null : { property: breakdown.property, limit: breakdown.limit },
  }
}

function stepsOf({ steps }: FunnelQuery): Step[] {
  const faults: QueryFault[] = []
  const conditionsOf = (where: QueryStep['where'], path: string) =>
    where.map((asked, index) => {
      const condition = conditionOf(asked)
      const message = conditionFault(condition)
      if (message !== null) faults.push({ path: `${path}.${index}`, message })
      return condition
    })
  const checkedSteps = steps.map((step, index) => {
    const common = conditionsOf(step.where, `steps.${index}.where`)
    const alternatives = step.anyOf ?? [{ event: step.event ?? null, where: [] }]
    return {
      matchers: alternatives.map(({ event, where }, at) => ({
        eventName: event,
        where: [...common, ...conditionsOf(where, `steps.${index}.anyOf.${at}.where`)],
      })),
    }
  })
  const [first] = faults
  if (first === undefined) return checkedSteps
  throw new AppError('INVALID_QUERY', `${first.path}: ${first.message}`, { faults })
}

type QueryStep = FunnelQuery['steps'][number]

/** Makes a condition as asked what is tested. A null is a missing value, in a question as in an event. */
export function conditionOf({ property, op, value }: QueryStep['where'][number]): Condition {
  if (value === null && op === 'eq') return { property, op: 'isNotSet' }
  if (value === null && op === 'ne') return { property, op: 'isSet' }
  return { property, op, value: value ?? undefined }
}
