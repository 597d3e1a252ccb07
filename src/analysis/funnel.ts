import assert from 'node:assert'
import type { Columns, Value } from '../segment/columns.ts'
import { openChains } from './chain.ts'
import { textOf } from './condition.ts'
import { entryValues, type EntryRows } from './entry-value.ts'
import { funnelResult, type FunnelResult } from './funnel-result.ts'
import { compileSteps, type Step } from './step-mask.ts'

export const FUNNEL_STEPS_MAX = 32
/** How many values a breakdown shows when the question does not say. */
export const BREAKDOWN_LIMIT_DEFAULT = 25

/**
 * A funnel in checked form. Events before `entryStartMs`, and from `lastEndMs` on, do not exist for it; a
 * chain's first event is before `entryEndMs` as well. All ends are excluded, but for the window's.
 */
export interface FunnelSpec {
  /** 1 to 32. */
  readonly steps: readonly Step[]
  readonly windowMs: number
  readonly entryStartMs: number
  readonly entryEndMs: number
  /** `entryEndMs` where the range bounds all steps; Infinity where it bounds the entry only. */
  readonly lastEndMs: number
  /** By the value at the first step of the user's best chain; `limit` values are shown by name. */
  readonly breakdown: { readonly property: string; readonly limit: number } | null
}

/** Users by step: how many have a best chain of at least so many steps. */
export interface FunnelCounts {
  readonly users: readonly number[]
  /** By text of the value, null for a missing one. Null where nothing is broken down. */
  readonly breakdown: ReadonlyMap<string | null, readonly number[]> | null
}

export interface FunnelGroup {
  /**
   * Takes some of the group's events. Calls come in time order, and events of equal time in one call. With
   * a breakdown the columns are kept until `close`.
   */
  readonly fold: (columns: Columns) => void
  /** Returns the group's counts. The last call. */
  readonly close: () => FunnelCounts
}

export interface Funnel {
  readonly empty: () => FunnelCounts
  /** Opens a fold group: positions 0 to `userCount` - 1, all events of each user in this group. */
  readonly openGroup: (userCount: number) => FunnelGroup
  /** Adds the counts of different users: associative, commutative, `empty` is neutral. */
  readonly merge: (a: FunnelCounts, b: FunnelCounts) => FunnelCounts
  readonly result: (counts: FunnelCounts) => FunnelResult
}

/**
 * Counts users by *the longest chain of distinct events, in step order, with non-decreasing times, all
 * within the window (its end included) of the chain's own first event; the best chain over all entries*.
 * One event takes one step; among events of equal time any order may be chosen. A user counts under one
 * value of the breakdown, so the values add up to the whole at each step.
 */
export function declareFunnel(spec: FunnelSpec): Funnel {
  const stepCount = spec.steps.length
  assert(stepCount >= 1 && stepCount <= FUNNEL_STEPS_MAX)
  assert(spec.windowMs >= 0 && Number.isFinite(spec.windowMs))
  const stepMasks = compileSteps(spec.steps)

  function openGroup(userCount: number): FunnelGroup {
    const shape = { userCount, stepCount, windowMs: spec.windowMs }
    const chains = openChains(shape)
    const parts: EntryRows[] = []
    return {
      fold(columns) {
        const masks = stepMasks(columns)
        clearOutside(masks, columns, spec)
        chains.fold(columns, masks)
        if (spec.breakdown === null) return
        parts.push({ columns, masks, values: columns.properties.get(spec.breakdown.property) })
      },
      close() {
        const furthest = chains.furthest()
        const users = usersByStep(furthest, stepCount)
        if (spec.breakdown === null) return { users, breakdown: null }
        const values = entryValues(parts, furthest, shape)
        return { users, breakdown: usersByValue(values, furthest, stepCount) }
      },
    }
  }

  return {
    empty: () => ({
      users: zeros(stepCount),
      breakdown: spec.breakdown === null ? null : new Map<string | null, readonly number[]>(),
    }),
    openGroup,
    merge: mergeCounts,
    result: (counts) => funnelResult(counts, spec.breakdown?.limit ?? 0),
  }
}

/** Returns the paths of the properties that the columns must have, each once. */
export function propertiesOf({ steps, breakdown }: FunnelSpec): string[] {
  const conditions = steps.flatMap(({ matchers }) => matchers.flatMap(({ where }) => where))
  const paths = conditions.map(({ property }) => property)
  return [...new Set(breakdown === null ? paths : [...paths, breakdown.property])]
}

/** Returns the names of the events that can satisfy a step, each once; null where any can. */
export function eventNamesOf({ steps }: FunnelSpec): string[] | null {
  const names = new Set<string>()
  for (const { matchers } of steps)
    for (const { eventName } of matchers) {
      if (eventName === null) return null
      names.add(eventName)
    }
  return [...names]
}

function clearOutside(masks: Uint32Array, { rowCount, timeMs }: Columns, spec: FunnelSpec): void {
  const from = firstRowAt(timeMs, rowCount, spec.entryStartMs)
  const to = firstRowAt(timeMs, rowCount, spec.lastEndMs)
  masks.fill(0, 0, from)
  masks.fill(0, to)
  for (let row = firstRowAt(timeMs, rowCount, spec.entryEndMs); row < to; row++) masks[row]! &= ~1
}

/** Returns the first row whose time is `atMs` or later; `rowCount` where there is none. */
function firstRowAt(timeMs: Float64Array, rowCount: number, atMs: number): number {
  let low = 0
  let high = rowCount
  while (low < high) {
    const middle = (low + high) >>> 1
    if (timeMs[middle]! < atMs) low = middle + 1
    else high = middle
  }
  return low
}

function usersByStep(furthest: Uint8Array, stepCount: number): number[] {
  const users = zeros(stepCount)
  for (const count of furthest) if (count > 0) users[count - 1]!++
  return fromFurthest(users)
}

function usersByValue(
  values: readonly (Value | null)[],
  furthest: Uint8Array,
  stepCount: number,
): Map<string | null, number[]> {
  const byValue = new Map<string | null, number[]>()
  furthest.forEach((count, user) => {
    if (count === 0) return
    const value = values[user]!
    const text = value === null ? null : textOf(value)
    let users = byValue.get(text)
    if (users === undefined) byValue.set(text, (users = zeros(stepCount)))
    users[count - 1]!++
  })
  for (const users of byValue.values()) fromFurthest(users)
  return byValue
}

/** Turns users by their furthest step into users who reached each step, in place. */
function fromFurthest(users: number[]): number[] {
  for (let step = users.length - 2; step >= 0; step--) users[step]! += users[step + 1]!
  return users
}

function mergeCounts(a: FunnelCounts, b: FunnelCounts): FunnelCounts {
  const users = sum(a.users, b.users)
  if (a.breakdown === null || b.breakdown === null) return { users, breakdown: null }
  const breakdown = new Map(a.breakdown)
  for (const [text, added] of b.breakdown) {
    const present = breakdown.get(text)
    breakdown.set(text, present === undefined ? added : sum(present, added))
  }
  return { users, breakdown }
}

function sum(a: readonly number[], b: readonly number[]): number[] {
  return a.map((count, step) => count + b[step]!)
}

function zeros(stepCount: number): number[] {
  return new Array<number>(stepCount).fill(0)
}
