import { compareTexts } from './condition.ts'
import { mergeTallies, type FunnelCounts, type Tally } from './tally.ts'
import { areExact, histogramOf, timesResult, type HistogramBar, type TimesResult } from './times.ts'

/** The entry of a breakdown that holds the values beyond its limit. */
export const OTHER = '$other'
/** The entry of a breakdown that holds users without a value. */
export const NONE = '$none'

/** The times are those from the chain's step before; null at the first step, and where they are not asked for. */
export interface FunnelStepResult extends TimesResult {
  readonly users: number
  /** Share of the users of the step before, 0 or more; 0 where there are none. 1 at the first step. */
  readonly fromPrevious: number
  /** Share of the users of the first step, 0 to 1; 0 where there are none. */
  readonly fromFirst: number
}

export interface FunnelResult {
  readonly steps: readonly FunnelStepResult[]
  /** In the order of `funnelResult`; null where nothing is broken down. */
  readonly breakdown:
    readonly { readonly value: string; readonly steps: readonly FunnelStepResult[] }[] | null
  /** By interval. Null where it is not asked for. */
  readonly trend: readonly (readonly FunnelStepResult[])[] | null
  /** From the first step to the last. Null where it is not asked for. */
  readonly timeToConvert:
    | (TimesResult & { readonly histogram: readonly HistogramBar[]; readonly areExact: boolean })
    | null
}

/**
 * Returns the counts with their shares, times `scale`. The breakdown has up to `limit` values, those with the most
 * users at step 1 first, equal ones in the order of their text; after them the others as one entry, `$other`, and the
 * users without a value as another, `$none`, each only if it has users. A value of the data that reads `$other` or
 * `$none` is counted in the entry of that name, and not against the limit.
 */
export function funnelResult(
  { breakdown, trend, ...whole }: FunnelCounts,
  limit: number,
  scale: number,
): FunnelResult {
  const steps = (tally: Tally) => stepResults(tally, scale)
  const inAll = whole.times?.at(-1)
  return {
    steps: steps(whole),
    breakdown:
      breakdown &&
      shownValues(breakdown, limit).map(([value, tally]) => ({ value, steps: steps(tally) })),
    trend: trend && trend.map(steps),
    timeToConvert:
      inAll === undefined
        ? null
        : {
            ...timesResult(inAll),
            histogram: histogramOf(inAll).map(({ users, ...bar }) => ({
              ...{ ...bar, users: scaled(users, scale) },
            })),
            areExact: whole.times!.every(areExact),
          },
  }
}

function shownValues(
  breakdown: NonNullable<FunnelCounts['breakdown']>,
  limit: number,
): [string, Tally][] {
  const named: [string, Tally][] = []
  const others: Tally[] = []
  const missing: Tally[] = []
  for (const [text, tally] of breakdown)
    if (text === null || text === NONE) missing.push(tally)
    else if (text === OTHER) others.push(tally)
    else named.push([text, tally])
  named.sort(([a, ofA], [b, ofB]) => ofB.users[0]! - ofA.users[0]! || compareTexts(a, b))
  for (const [, tally] of named.splice(limit)) others.push(tally)

  if (others.length > 0) named.push([OTHER, others.reduce(mergeTallies)])
  if (missing.length > 0) named.push([NONE, missing.reduce(mergeTallies)])
  return named
}

function stepResults({ users, times }: Tally, scale: number): FunnelStepResult[] {
  return users.map((count, step) => ({
    users: scaled(count, scale),
    fromPrevious: share(count, users[Math.max(step - 1, 0)]!),
    fromFirst: share(count, users[0]!),
    ...(times === null ? NOT_ASKED : timesResult(times[step]!)),
  }))
}

const NOT_ASKED: TimesResult = { medianMs: null, meanMs: null, p90Ms: null }

function scaled(count: number, scale: number): number {
  return Math.round(count * scale)
}

function share(count: number, of: number): number {
  return of === 0 ? 0 : count / of
}
