import { compareTexts } from './condition.ts'
import type { FunnelCounts } from './funnel.ts'

/** The entry of a breakdown that holds the values beyond its limit. */
export const OTHER = '$other'
/** The entry of a breakdown that holds users without a value. */
export const NONE = '$none'

export interface FunnelStepResult {
  readonly users: number
  /** Share of the users of the step before, 0 to 1; 0 where there are none. 1 at the first step. */
  readonly fromPrevious: number
  /** Share of the users of the first step, 0 to 1; 0 where there are none. */
  readonly fromFirst: number
}

export interface FunnelResult {
  readonly steps: readonly FunnelStepResult[]
  /** In the order of `funnelResult`; null where nothing is broken down. */
  readonly breakdown:
    readonly { readonly value: string; readonly steps: readonly FunnelStepResult[] }[] | null
}

/**
 * Returns the counts with their shares. The breakdown has up to `limit` values, those with the most users
 * at step 1 first, equal ones in the order of their text; after them the others as one entry, `$other`,
 * and the users without a value as another, `$none`, each only if it has users. A value of the data that
 * reads `$other` or `$none` is counted in the entry of that name, and not against the limit.
 */
export function funnelResult({ users, breakdown }: FunnelCounts, limit: number): FunnelResult {
  return { steps: stepResults(users), breakdown: breakdown && breakdownResult(breakdown, limit) }
}

function breakdownResult(breakdown: NonNullable<FunnelCounts['breakdown']>, limit: number) {
  const named: [string, readonly number[]][] = []
  const others: (readonly number[])[] = []
  const missing: (readonly number[])[] = []
  for (const [text, users] of breakdown)
    if (text === null || text === NONE) missing.push(users)
    else if (text === OTHER) others.push(users)
    else named.push([text, users])
  named.sort(([a, usersOfA], [b, usersOfB]) => usersOfB[0]! - usersOfA[0]! || compareTexts(a, b))
  for (const [, users] of named.splice(limit)) others.push(users)

  if (others.length > 0) named.push([OTHER, total(others)])
  if (missing.length > 0) named.push([NONE, total(missing)])
  return named.map(([value, users]) => ({ value, steps: stepResults(users) }))
}

function total(counts: readonly (readonly number[])[]): number[] {
  return counts.reduce<number[]>(
    (sums, users) => users.map((count, step) => count + (sums[step] ?? 0)),
    [],
  )
}

function stepResults(users: readonly number[]): FunnelStepResult[] {
  return users.map((count, step) => ({
    users: count,
    fromPrevious: share(count, users[Math.max(step - 1, 0)]!),
    fromFirst: share(count, users[0]!),
  }))
}

function share(count: number, of: number): number {
  return of === 0 ? 0 : count / of
}
