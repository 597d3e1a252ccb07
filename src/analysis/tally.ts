import type { Chain } from './chain-path.ts'
import { bitOf } from './step-bits.ts'
import { mergeTimes, NO_TIMES, timesOf, type Times } from './times.ts'

/** What is counted of chains, in the unit of the question. */
export interface Tally {
  /** By step, how many chains have it. */
  readonly users: readonly number[]
  /**
   * By step, the times from the chain's step before it; and, as one entry more, those from the first step to the
   * last. Null where they are not asked for.
   */
  readonly times: readonly Times[] | null
}

export interface FunnelCounts extends Tally {
  /** By text of the value, null for a missing one. Null where nothing is broken down. */
  readonly breakdown: ReadonlyMap<string | null, Tally> | null
  /** By interval of the entry. Null where it is not asked for. */
  readonly trend: readonly Tally[] | null
}

/** A tally that is being made. */
export interface OpenTally {
  readonly users: number[]
  readonly times: number[][] | null
}

export function openTally(stepCount: number, areTimesAsked: boolean): OpenTally {
  return {
    users: new Array<number>(stepCount).fill(0),
    times: areTimesAsked ? Array.from({ length: stepCount + 1 }, () => []) : null,
  }
}

/** Counts a chain at each of its steps, and its times between them. */
export function addChain({ users, times }: OpenTally, { entryMs, taken, timeMs }: Chain): void {
  let beforeMs = entryMs
  for (let step = 0; step < users.length; step++) {
    if ((taken & bitOf(step)) === 0) continue
    users[step]!++
    if (times === null || step === 0) continue
    times[step]!.push(timeMs[step]! - beforeMs)
    beforeMs = timeMs[step]!
    if (step === users.length - 1) times[users.length]!.push(beforeMs - entryMs)
  }
}

export function closeTally({ users, times }: OpenTally): Tally {
  return { users, times: times && times.map(timesOf) }
}

export function emptyTally(stepCount: number, areTimesAsked: boolean): Tally {
  return closeTally(openTally(stepCount, areTimesAsked))
}

/** Adds the counts of different chains: associative, commutative, `emptyTally` is neutral. */
export function mergeTallies(a: Tally, b: Tally): Tally {
  return {
    users: a.users.map((count, step) => count + b.users[step]!),
    times: a.times && a.times.map((times, step) => mergeTimes(times, b.times?.[step] ?? NO_TIMES)),
  }
}

/** Adds the counts of different users, as `mergeTallies` does. */
export function mergeCounts(a: FunnelCounts, b: FunnelCounts): FunnelCounts {
  const whole = mergeTallies(a, b)
  const trend = a.trend && a.trend.map((tally, at) => mergeTallies(tally, b.trend![at]!))
  if (a.breakdown === null || b.breakdown === null) return { ...whole, trend, breakdown: null }
  const breakdown = new Map(a.breakdown)
  for (const [text, added] of b.breakdown) {
    const present = breakdown.get(text)
    breakdown.set(text, present === undefined ? added : mergeTallies(present, added))
  }
  return { ...whole, trend, breakdown }
}
