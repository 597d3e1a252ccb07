import { compileCondition, conditionFault } from '../analysis/condition.ts'
import { AppError, type QueryFault } from '../error.ts'
import { propertyAt } from '../event/property.ts'
import type { StoredEvent } from '../store/event-row.ts'
import type { SearchQuery } from '../wire/search-query.ts'
import { conditionOf } from './funnel-spec.ts'

export type EventFilter = (event: StoredEvent) => boolean

/** Returns what tells whether an event is of these names and meets the conditions. Throws INVALID_QUERY. */
export function eventFilterOf({ event, where }: Pick<SearchQuery, 'event' | 'where'>): EventFilter {
  const names = event === undefined ? null : new Set(event)
  const conditions = where.map(conditionOf)
  const faults = conditions.flatMap((condition, index): QueryFault[] => {
    const message = conditionFault(condition)
    return message === null ? [] : [{ path: `where.${index}`, message }]
  })
  const [first] = faults
  if (first !== undefined)
    throw new AppError('INVALID_QUERY', `${first.path}: ${first.message}`, { faults })
  const tests = conditions.map((condition) => ({
    property: condition.property,
    test: compileCondition(condition),
  }))
  return ({ eventName, properties }) => {
    if (names !== null && !names.has(eventName)) return false
    if (tests.length === 0) return true
    const parsed: unknown = JSON.parse(properties)
    return tests.every(({ property, test }) => test(propertyAt(parsed, property)))
  }
}
