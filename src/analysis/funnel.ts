import assert from 'node:assert'
import type { DayRuns } from '../segment/columns.ts'
import { openChains } from './chain.ts'
import type { Chain } from './chain-path.ts'
import { DAY_MS, openDayRows } from './day-rows.ts'
import { openDays } from './days.ts'
import { openEntryValues } from './entry-values.ts'
import { funnelResult, type FunnelResult } from './funnel-result.ts'
import { EXCLUSIONS_MAX, FUNNEL_STEPS_MAX, isPlain, type FunnelSpec } from './funnel-spec.ts'
import { intervalAt } from './interval-at.ts'
import {
  addChain,
  closeTally,
  emptyTally,
  mergeCounts,
  openTally,
  type FunnelCounts,
  type OpenTally,
  type Tally,
} from './tally.ts'
import { openTextCodes } from './text-codes.ts'
import { openUserChains, type ChainPart } from './user-chains.ts'
import { openUserRows } from './user-rows.ts'

export interface FunnelGroup {
  /**
   * Takes all of the group's events of a day that matter. Days come in ascending order; those without events may be
   * left out. The runs may be looked at again by `close`.
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
  /** Returns what is shown of the counts, times `scale` (1 by default). */
  readonly result: (counts: FunnelCounts, scale?: number) => FunnelResult
}

/**
 * Counts users by *the longest chain of distinct events, in step order, with non-decreasing times, all within the
 * window (its end included) of the chain's own first event; the best chain over all entries.* One event takes one
 * step; among events of equal time any order may be chosen. Of several best chains the one counts that begins first,
 * then has each step as early as it can: its entry, times and values are told.
 *
 * A plain question needs how far each user comes and nothing else (chain.ts). All others look at chains one by one,
 * user by user (user-chains.ts).
 */
export function declareFunnel(spec: FunnelSpec): Funnel {
  const stepCount = spec.steps.length
  assert(stepCount >= 1 && stepCount <= FUNNEL_STEPS_MAX)
  assert(spec.windowMs >= 0 && Number.isFinite(spec.windowMs))
  assert(!spec.steps[0]!.isOptional && spec.exclude.length <= EXCLUSIONS_MAX)
  const intervalCount = (spec.trendStartsMs?.length ?? 1) - 1
  const none = () => emptyTally(stepCount, spec.timeToConvert)
  return {
    empty: () => ({
      ...none(),
      breakdown: spec.breakdown === null ? null : new Map<string | null, Tally>(),
      trend: spec.trendStartsMs && Array.from({ length: intervalCount }, none),
    }),
    openGroup: isPlain(spec) ? openPlain(spec) : openChainByChain(spec),
    merge: mergeCounts,
    result: (counts, scale = 1) => funnelResult(counts, spec.breakdown?.limit ?? 0, scale),
  }
}

/** For questions that look at each chain: all is done when the group is closed. */
function openChainByChain(spec: FunnelSpec): Funnel['openGroup'] {
  const texts = openTextCodes()
  const rowsByUser = openUserRows(spec, texts)
  const chainsOf = openUserChains(spec, texts, spec.timeToConvert)
  return (userCount) => {
    const days = openDays()
    return {
      fold: days.add,
      close() {
        const counts = openCounts(spec, texts.texts)
        rowsByUser(days.close(), userCount, null, (_user, rows, from, to) => {
          chainsOf(rows, from, to, counts.take)
          return true
        })
        return counts.close()
      },
    }
  }
}

/** For plain questions: one pass as the days come, and one more for users whose entries hold several values. */
function openPlain(spec: FunnelSpec): Funnel['openGroup'] {
  const stepCount = spec.steps.length
  const chains = openChains({ stepCount, windowMs: spec.windowMs })
  const texts = openTextCodes()
  const { breakdown } = spec
  const dayRows = openDayRows(spec, breakdown && { property: breakdown.property, texts })
  const entryValues = openEntryValues()
  const rowsByUser = openUserRows(spec, texts)
  const chainsOf = openUserChains(spec, texts, false)
  const areLaterAsked = breakdown?.attribution === 'first'

  return (userCount) => {
    const state = chains.open(userCount)
    const values = breakdown === null ? null : entryValues.open(userCount)
    const days = openDays()
    return {
      fold(runs) {
        days.add(runs)
        const { span, entries } = dayRows.read(runs)
        chains.fold(state, { rows: dayRows.rows, span, entries }, runs.day * DAY_MS)
        if (values === null) return
        dayRows.readValues(runs, areLaterAsked, (rows, valued) =>
          entryValues.note(values, rows, valued, areLaterAsked),
        )
      },
      close() {
        const users = chains.users(state)
        const all = days.close()
        if (values === null) {
          chains.release(state)
          return { users, times: null, breakdown: null, trend: null }
        }
        const furthest = chains.furthest(state)
        chains.release(state)
        if (entryValues.flagUndecided(values))
          rowsByUser(all, userCount, values.areSeveral, (user, rows, from, to) => {
            chainsOf(rows, from, to, (_chain, code) => {
              values.codes[user] = code
            })
            return true
          })
        const byText = usersByText(values.codes, furthest, stepCount, texts.texts)
        entryValues.release(values)
        return { users, times: null, breakdown: byText, trend: null }
      },
    }
  }
}

/** Counts chains one by one. */
function openCounts({ steps, trendStartsMs, timeToConvert, breakdown }: FunnelSpec, texts: Texts) {
  const open = () => openTally(steps.length, timeToConvert)
  const whole = open()
  const byCode: (OpenTally | undefined)[] = []
  const trend = trendStartsMs && trendStartsMs.slice(1).map(open)
  return {
    take(chain: Chain, code: number, { isOfWhole, isOfValue }: ChainPart): void {
      if (isOfWhole) addChain(whole, chain)
      if (isOfWhole && trend !== null)
        addChain(trend[intervalAt(trendStartsMs!, chain.entryMs)]!, chain)
      if (isOfValue) addChain((byCode[code] ??= open()), chain)
    },
    close(): FunnelCounts {
      const byText = new Map<string | null, Tally>()
      byCode.forEach((tally, code) => {
        if (tally !== undefined) byText.set(texts[code]!, closeTally(tally))
      })
      return {
        ...closeTally(whole),
        breakdown: breakdown === null ? null : byText,
        trend: trend && trend.map(closeTally),
      }
    },
  }
}

type Texts = readonly (string | null)[]

function usersByText(
  codes: Uint32Array,
  furthest: Uint8Array,
  stepCount: number,
  texts: Texts,
): Map<string | null, Tally> {
  const byCode: (number[] | undefined)[] = []
  for (let user = 0; user < furthest.length; user++) {
    const count = furthest[user]!
    if (count > 0) (byCode[codes[user]!] ??= new Array<number>(stepCount).fill(0))[count - 1]!++
  }
  const byText = new Map<string | null, Tally>()
  byCode.forEach((users, code) => {
    if (users !== undefined) byText.set(texts[code]!, { users: fromFurthest(users), times: null })
  })
  return byText
}

/** Turns users by their furthest step into users who reached each step, in place. */
function fromFurthest(users: number[]): number[] {
  for (let step = users.length - 2; step >= 0; step--) users[step]! += users[step + 1]!
  return users
}
