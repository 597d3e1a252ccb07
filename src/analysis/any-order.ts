import { openChain, type Chain } from './chain-path.ts'
import type { FunnelSpec } from './funnel-spec.ts'
import { openGrowingMatch } from './growing-match.ts'
import { momentRows } from './moment-rows.ts'
import type { Moments } from './moments.ts'
import { openNextMoment } from './next-moment.ts'
import { ALL_STEPS, below, bitOf, lowestStep, stepCountOf } from './step-bits.ts'
import type { TieValues } from './tie-values.ts'

/**
 * Finds sets of distinct steps with distinct events, in any order, within a window of the earliest of them and with
 * no excluded event strictly between the first and the last.
 *
 * From one entry on, events are taken in the order of their times if one more step can be had with them. Sets of
 * events that can be matched are a matroid, so this greedy way has each number of steps as early as possible (Edmonds
 * 1971).
 */
export function openAnyOrder(spec: FunnelSpec, tieValues: TieValues | null) {
  const stepCount = spec.steps.length
  const isOnlyFirst = spec.entry === 'first'
  const chain = openChain(stepCount)
  const match = openGrowingMatch(stepCount)
  const withStep = openNextMoment()
  const withExcluded = openNextMoment()
  const inWindow = new Int32Array(stepCount)
  const knownRows = new Map<number, readonly number[]>()
  const oneRow = [0]

  function load(moments: Moments): void {
    withStep.fill(moments.any, moments.count)
    if (spec.exclude.length > 0) withExcluded.fill(moments.excluded, moments.count)
    if (knownRows.size > 0) knownRows.clear()
  }

  /** Returns the rows of a moment, those whose values are preferred first. */
  function rowsOf(moments: Moments, at: number): readonly number[] {
    const row = moments.from[at]!
    if (moments.from[at + 1]! - row === 1) {
      oneRow[0] = row
      return oneRow
    }
    let rows = knownRows.get(at)
    if (rows === undefined) {
      rows = momentRows(moments, at, below(stepCount), tieValues && tieValues.comesFirst)
      knownRows.set(at, rows)
    }
    return rows
  }

  const isEntry = ({ any, timeMs }: Moments, at: number) =>
    any[at] !== 0 && timeMs[at]! >= spec.entryStartMs && timeMs[at]! < spec.entryEndMs

  /** Fills `chain` from an entry, whose window is over at moment `end`; returns the moment at which the chain ends. */
  function follow(moments: Moments, entry: number, end: number): number {
    const cut = spec.exclude.length === 0 ? end : withExcluded.from(entry + 1, ALL_STEPS)
    let count = 0
    match.clear()
    chain.entryMs = moments.timeMs[entry]!
    // What is of the moment of an excluded event is not after it.
    for (let at = entry; at < end && at <= cut; at = withStep.from(at + 1, match.wanted())) {
      for (const row of rowsOf(moments, at)) {
        if (!match.add(moments.events.mask[row]! | 0)) continue
        chain.timeMs[count] = moments.timeMs[at]!
        chain.code[count++] = moments.events.code[row]!
      }
      chain.taken = below(count)
      if (count === stepCount) return at
    }
    return Math.min(end, cut)
  }

  /** Returns the set with the most steps over all entries; the earliest of several. Null where there is none. */
  function best(moments: Moments): Chain | null {
    const found = { entry: -1, end: 0, count: 0 }
    let end = 0
    let union = 0
    let followed = -1
    load(moments)
    inWindow.fill(0)
    for (let entry = 0; entry < moments.count; entry++) {
      const endMs = moments.timeMs[entry]! + spec.windowMs
      for (; end < moments.count && moments.timeMs[end]! <= endMs; end++)
        union |= countIn(moments.any[end]!, 1)
      if (isEntry(moments, entry) && stepCountOf(union) > found.count) {
        follow(moments, entry, end)
        followed = entry
        const count = stepCountOf(chain.taken)
        if (count > found.count) {
          found.entry = entry
          found.end = end
          found.count = count
        }
        if (count === stepCount || isOnlyFirst) return chain
      }
      union &= ~countIn(moments.any[entry]!, -1)
    }
    if (found.count === 0) return null
    if (followed !== found.entry) follow(moments, found.entry, found.end)
    return chain
  }

  /** Counts the steps of a moment that comes into the window or leaves it; returns those whose number is 1 or 0 now. */
  function countIn(mask: number, by: 1 | -1): number {
    let changed = 0
    for (let rest = mask; rest !== 0; rest &= rest - 1) {
      const step = lowestStep(rest)
      inWindow[step]! += by
      if (inWindow[step] === (by === 1 ? 1 : 0)) changed |= bitOf(step)
    }
    return changed
  }

  return {
    best,

    /**
     * Calls `take` for each attempt: one ends when it has all steps, at an excluded event, or when its window is over;
     * further entries until then are part of it.
     */
    attempts(moments: Moments, take: (chain: Chain) => void): void {
      load(moments)
      for (let entry = 0, end = 0; entry < moments.count;) {
        if (!isEntry(moments, entry)) {
          entry++
          continue
        }
        const endMs = moments.timeMs[entry]! + spec.windowMs
        while (end < moments.count && moments.timeMs[end]! <= endMs) end++
        const at = follow(moments, entry, end)
        take(chain)
        if (isOnlyFirst) return
        entry = at === end ? end : at + 1
      }
    },
  }
}
