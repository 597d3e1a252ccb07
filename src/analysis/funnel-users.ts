import assert from 'node:assert'
import type { DayRuns } from '../segment/columns.ts'
import { openChains } from './chain.ts'
import { DAY_MS, openDayRows, type DayRows } from './day-rows.ts'
import { openEntryCodes } from './entry-value.ts'
import { FUNNEL_STEPS_MAX, type FunnelSpec } from './funnel.ts'
import type { Span } from './merge-runs.ts'
import { openTextCodes } from './text-codes.ts'
import { firstSteps, loadTieSet, openTieSet } from './tie-set.ts'
import { openTieSplit, splitTie } from './tie-split.ts'

/** Which of a funnel's users are asked for. */
export interface UsersAsked {
  readonly spec: FunnelSpec
  /** From 1; from 2 where `outcome` is `dropped`. */
  readonly step: number
  /** Those whose best chain has at least `step` steps, or those whose best chain has one step less. */
  readonly outcome: 'converted' | 'dropped'
  /**
   * Only users whose value of the breakdown is among `texts` (null: a missing one), or only those whose value
   * is not. Null: all users.
   */
  readonly values: {
    readonly texts: readonly (string | null)[]
    readonly areAmong: boolean
  } | null
}

/** A user by position within the fold group, and the times of the chain that is shown of this user. */
export interface ReachedUser {
  readonly user: number
  readonly enteredMs: number
  readonly reachedMs: number
}

export interface FunnelUsersGroup {
  /** Takes the events of a day, as `FunnelGroup` does. They are looked at again by `close`. */
  readonly fold: (day: DayRuns) => void
  /** Returns the first `limit` users after position `after`, by position. The last call. */
  readonly close: (after: number, limit: number) => ReachedUser[]
}

export interface FunnelUsers {
  /** Opens a fold group: positions 0 to `userCount` - 1, all events of each user in this group. */
  readonly openGroup: (userCount: number) => FunnelUsersGroup
}

/**
 * Finds the users behind a bar of a funnel: exactly those that `declareFunnel` counts there.
 *
 * Of each it tells the times of one chain. With d steps that the outcome is about (`step` where they
 * converted, one less where they dropped), it is the chain of d steps that is the first to be complete;
 * among those that are complete at that moment, the one that began last. The whole is linear in the events.
 */
export function declareFunnelUsers({ spec, step, outcome, values }: UsersAsked): FunnelUsers {
  const stepCount = spec.steps.length
  assert(stepCount <= FUNNEL_STEPS_MAX && step <= stepCount)
  const depth = outcome === 'converted' ? step : step - 1
  assert(depth >= 1)
  assert(values === null || spec.breakdown !== null)
  const shape = { stepCount, windowMs: spec.windowMs }
  const texts = openTextCodes()
  const dayRows = openDayRows(spec, spec.breakdown && { ...spec.breakdown, texts })
  const chains = openChains(shape)
  const entryCodes = openEntryCodes(shape, texts.texts)
  const firstChains = openFirstChains(dayRows, { stepCount, depth, windowMs: spec.windowMs })
  const named = new Set(values?.texts)

  /** Clears the flags of users whose best chain does not begin with one of the values asked for. */
  function keepValues(flags: Uint8Array, days: readonly DayRuns[], furthest: Uint8Array): void {
    const kept = days.map((day) => {
      const span = dayRows.readFlagged(day, flags)
      return entryCodes.keep(dayRows.rows, span, day.day * DAY_MS, furthest.length)
    })
    const chosen = entryCodes.choose(kept, furthest, dayRows.rows)
    for (let user = 0; user < flags.length; user++)
      if (flags[user] === 1 && named.has(texts.texts[chosen[user]!]!) !== values!.areAmong)
        flags[user] = 0
  }

  return {
    openGroup(userCount) {
      const state = chains.open(userCount)
      const days: DayRuns[] = []
      return {
        fold(runs) {
          assert(runs.day > (days.at(-1)?.day ?? -Infinity), 'days in ascending order')
          const { span, entries } = dayRows.read(runs)
          chains.fold(state, { rows: dayRows.rows, span, entries }, runs.day * DAY_MS)
          days.push(runs)
        },
        close(after, limit) {
          const furthest = chains.furthest(state)
          const flags = furthest.map((count) =>
            Number(outcome === 'converted' ? count >= depth : count === depth),
          )
          if (values !== null) keepValues(flags, days, furthest)
          chains.release(state)
          const listed: number[] = []
          for (let user = 0; user < userCount; user++) {
            if (user <= after || listed.length >= limit) flags[user] = 0
            else if (flags[user] === 1) listed.push(user)
          }
          const found = firstChains(days, flags)
          return listed.map((user) => ({ user, ...found.get(user)! }))
        },
      }
    },
  }
}

/** Finds, for the users whose flag is 1, the chain that is told of; clears their flags. */
function openFirstChains(
  dayRows: DayRows,
  {
    stepCount,
    depth,
    windowMs,
  }: { readonly stepCount: number; readonly depth: number; readonly windowMs: number },
) {
  const split = openTieSplit()
  const tieSet = openTieSet(stepCount)
  const { rows } = dayRows

  /**
   * Takes events of one user and time. As in `openChains`, `startMs[k]` is the newest start of a chain that has
   * reached step k. Returns the start of the chain that has reached the last one; null where none has yet.
   */
  function take(startMs: Float64Array, part: Span, timeMs: number): number | null {
    loadTieSet(tieSet, rows.mask, split.rows, part)
    const firstStep = firstSteps(tieSet, depth)
    for (let step = depth - 1; step >= 0; step--) {
      const first = firstStep[step]!
      if (first > step) continue
      const chainStartMs = first === 0 ? timeMs : startMs[first - 1]!
      if (timeMs - chainStartMs > windowMs) continue
      if (step === depth - 1) return chainStartMs
      startMs[step] = chainStartMs
    }
    return null
  }

  return (days: readonly DayRuns[], flags: Uint8Array) => {
    const starts = new Map<number, Float64Array>()
    const found = new Map<number, { readonly enteredMs: number; readonly reachedMs: number }>()
    const takeTie = (tied: Span, timeMs: number) => {
      splitTie(split, rows, tied, flags.length)
      for (let index = 0, from = 0; index < split.userCount; index++) {
        const part = { from, to: split.ends[index]! }
        from = part.to
        const user = rows.user[split.rows[part.from]!]!
        if (found.has(user)) continue
        let startMs = starts.get(user)
        if (startMs === undefined)
          starts.set(user, (startMs = new Float64Array(depth).fill(-Infinity)))
        const enteredMs = take(startMs, part, timeMs)
        if (enteredMs === null) continue
        found.set(user, { enteredMs, reachedMs: timeMs })
        flags[user] = 0
      }
    }
    for (const day of days) {
      const span = dayRows.readFlagged(day, flags)
      for (let { from } = span, to = from; from < span.to; from = to) {
        while (to < span.to && rows.timeMs[to] === rows.timeMs[from]) to++
        takeTie({ from, to }, day.day * DAY_MS + rows.timeMs[from]!)
      }
    }
    return found
  }
}
