import assert from 'node:assert'
import type { DayRuns } from '../segment/columns.ts'
import { openChains, type ChainShape } from './chain.ts'
import { DAY_MS, openDayRows } from './day-rows.ts'
import { openEntryCodes } from './entry-value.ts'
import { openEntryValues, type EntryValues } from './entry-values.ts'
import { funnelResult, type FunnelResult } from './funnel-result.ts'
import type { Step } from './step-mask.ts'
import { openTextCodes } from './text-codes.ts'

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
   * Takes all of the group's events of a day that can satisfy a step. Days come in ascending order; those
   * without events may be left out. With a breakdown the runs are looked at again by `close`.
   */
  readonly fold: (day: DayRuns) => void
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
  const shape = { stepCount, windowMs: spec.windowMs }
  const breakdown = spec.breakdown && openBreakdown(spec.breakdown.property, shape)
  const dayRows = openDayRows(spec, breakdown)
  const chains = openChains(shape)

  function openGroup(userCount: number): FunnelGroup {
    const state = chains.open(userCount)
    const values = breakdown?.entryValues.open(userCount) ?? null
    const days: DayRuns[] = []
    let lastDay = -Infinity
    return {
      fold(runs) {
        assert(runs.day > lastDay, 'days in ascending order, before the group is closed')
        lastDay = runs.day
        const { span, entries } = dayRows.read(runs)
        chains.fold(state, { rows: dayRows.rows, span, entries }, runs.day * DAY_MS)
        if (breakdown === null || values === null) return
        dayRows.readEntries(runs, (rows, entries) =>
          breakdown.entryValues.note(values, rows, entries),
        )
        days.push(runs)
      },
      close() {
        lastDay = Infinity
        const users = chains.users(state)
        if (breakdown === null || values === null) {
          chains.release(state)
          return { users, breakdown: null }
        }
        const furthest = chains.furthest(state)
        chains.release(state)
        if (values.isAnySeveral) chooseAmongSeveral(values, days, furthest)
        const byText = usersByText(values.codes, furthest, stepCount, breakdown.texts.texts)
        breakdown.entryValues.release(values)
        return { users, breakdown: byText }
      },
    }
  }

  /** Finds the value of users who have entries of several; looks at their events once more. */
  function chooseAmongSeveral(
    { codes, areSeveral }: EntryValues,
    days: readonly DayRuns[],
    furthest: Uint8Array,
  ): void {
    const { entryCodes } = breakdown!
    const kept = days.map((day) => {
      const span = dayRows.readFlagged(day, areSeveral)
      return entryCodes.keep(dayRows.rows, span, day.day * DAY_MS, furthest.length)
    })
    const chosen = entryCodes.choose(kept, furthest, dayRows.rows)
    for (let user = 0; user < furthest.length; user++)
      if (areSeveral[user] === 1) codes[user] = chosen[user]!
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

/** Returns the paths of the properties that the runs must have, each once; or only those of one name's runs. */
export function propertiesOf({ steps, breakdown }: FunnelSpec, ofName?: string): string[] {
  const matchersOf = (step: Step) =>
    step.matchers.filter(
      ({ eventName }) => ofName === undefined || eventName === null || eventName === ofName,
    )
  const conditions = steps.flatMap((step) => matchersOf(step).flatMap(({ where }) => where))
  const paths = conditions.map(({ property }) => property)
  // Only entries are asked for the value by which they are broken down.
  if (breakdown !== null && matchersOf(steps[0]!).length > 0) paths.push(breakdown.property)
  return [...new Set(paths)]
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

function openBreakdown(property: string, shape: ChainShape) {
  const texts = openTextCodes()
  const entryCodes = openEntryCodes(shape, texts.texts)
  return { property, texts, entryValues: openEntryValues(), entryCodes }
}

function usersByText(
  codes: Uint32Array,
  furthest: Uint8Array,
  stepCount: number,
  texts: readonly (string | null)[],
): Map<string | null, number[]> {
  const byCode: (number[] | undefined)[] = []
  for (let user = 0; user < furthest.length; user++) {
    const count = furthest[user]!
    if (count > 0) (byCode[codes[user]!] ??= zeros(stepCount))[count - 1]!++
  }
  const byText = new Map<string | null, number[]>()
  byCode.forEach((users, code) => {
    if (users !== undefined) byText.set(texts[code]!, fromFurthest(users))
  })
  return byText
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
