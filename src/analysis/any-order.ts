import type { FunnelSpec } from './funnel-spec.ts'
import { openChain, type Chain } from './chain-path.ts'
import type { Moments } from './moments.ts'
import { below, lowestStep } from './step-bits.ts'
import type { TieValues } from './tie-values.ts'

/** Steps that have an event each, while events are taken one by one. */
interface Matching {
  /** By event kept: its steps, the step that it has, its last search. */
  readonly mask: number[]
  readonly stepOf: number[]
  readonly seenIn: number[]
  search: number
}

const FREE = -1

/**
 * Finds sets of distinct steps with distinct events, in any order, within a window of the earliest of them and with
 * no excluded event strictly between the first and the last.
 *
 * From one entry on, events are taken in the order of their times if one more step can be had with them (by
 * augmenting paths, Kuhn 1955). Sets of events that can be matched are a matroid, so this greedy way has each number
 * of steps as early as possible (Edmonds 1971).
 */
export function openAnyOrder(spec: FunnelSpec, tieValues: TieValues | null) {
  const stepCount = spec.steps.length
  const isOnlyFirst = spec.entry === 'first'
  const chain = openChain(stepCount)
  const matching: Matching = { mask: [], stepOf: [], seenIn: [], search: 0 }

  const isEntry = ({ any, timeMs }: Moments, at: number) =>
    any[at] !== 0 && timeMs[at]! >= spec.entryStartMs && timeMs[at]! < spec.entryEndMs

  /** Returns the rows of a moment, those whose values are preferred first. */
  function rowsOf({ from, events }: Moments, at: number): number[] {
    const rows: number[] = []
    for (let row = from[at]!; row < from[at + 1]!; row++) if (events.mask[row] !== 0) rows.push(row)
    if (rows.length > 1 && tieValues !== null)
      rows.sort((a, b) => tieValues.comesFirst(events.code[a]!, events.code[b]!))
    return rows
  }

  /** Whether a set that begins at an entry ends at a moment, since what is excluded lies there. */
  const isCut = ({ excluded }: Moments, entry: number, at: number) =>
    at > entry && excluded[at] !== 0

  /** Fills `chain` and `matching` from an entry; returns the moment at which it ends. */
  function follow(moments: Moments, entry: number): number {
    const endMs = moments.timeMs[entry]! + spec.windowMs
    let count = 0
    let at = entry
    clear(matching)
    chain.entryMs = moments.timeMs[entry]!
    for (; at < moments.count && moments.timeMs[at]! <= endMs; at++) {
      if (moments.any[at] !== 0)
        for (const row of rowsOf(moments, at)) {
          if (!addTo(matching, moments.events.mask[row]! | 0)) continue
          chain.timeMs[count] = moments.timeMs[at]!
          chain.code[count++] = moments.events.code[row]!
          if (count === stepCount) break
        }
      if (count === stepCount || isCut(moments, entry, at)) break
    }
    chain.taken = below(count)
    return at
  }

  /**
   * Returns the set with the most steps over all entries; the earliest of several. Null where there is none.
   *
   * `matching` is of all events since the last set that was looked at, so it has at least as many steps as those that
   * are still within the window: entries for which it has too few are passed over.
   */
  function best(moments: Moments): Chain | null {
    let found = { entry: -1, count: 0 }
    let end = 0
    clear(matching)
    for (let entry = 0; entry < moments.count; entry++) {
      if (!isEntry(moments, entry)) continue
      const endMs = moments.timeMs[entry]! + spec.windowMs
      end = Math.max(end, entry)
      for (; end < moments.count && moments.timeMs[end]! <= endMs; end++) {
        if (isCut(moments, entry, end - 1)) break
        for (let row = moments.from[end]!; row < moments.from[end + 1]!; row++)
          addTo(matching, moments.events.mask[row]! | 0)
      }
      if (matching.mask.length <= found.count) continue
      follow(moments, entry)
      const count = matching.mask.length
      if (count > found.count) found = { entry, count }
      if (count === stepCount || isOnlyFirst) return chain
    }
    if (found.count === 0) return null
    follow(moments, found.entry)
    return chain
  }

  return {
    best,

    /**
     * Calls `take` for each attempt: one ends when it has all steps, at an excluded event, or when its window is over;
     * further entries until then are part of it.
     */
    attempts(moments: Moments, take: (chain: Chain) => void): void {
      for (let entry = 0; entry < moments.count;) {
        if (!isEntry(moments, entry)) {
          entry++
          continue
        }
        const at = follow(moments, entry)
        take(chain)
        if (isOnlyFirst) return
        const isOver = at >= moments.count || moments.timeMs[at]! > chain.entryMs + spec.windowMs
        entry = isOver ? at : at + 1
      }
    },
  }
}

function clear(matching: Matching): void {
  matching.mask.length = 0
  matching.stepOf.length = 0
  matching.seenIn.length = 0
}

/** Takes an event into a matching if it then has one step more. */
function addTo(matching: Matching, mask: number): boolean {
  matching.mask.push(mask)
  matching.stepOf.push(FREE)
  matching.seenIn.push(0)
  matching.search++
  if (place(matching, matching.mask.length - 1)) return true
  matching.mask.pop()
  matching.stepOf.pop()
  matching.seenIn.pop()
  return false
}

/** Gives an event a step, moving others where it must. */
function place(matching: Matching, event: number): boolean {
  const { mask, stepOf, seenIn, search } = matching
  seenIn[event] = search
  for (let rest = mask[event]!; rest !== 0; rest &= rest - 1) {
    const step = lowestStep(rest)
    const holder = stepOf.indexOf(step)
    if (holder !== FREE && (seenIn[holder] === search || !place(matching, holder))) continue
    stepOf[event] = step
    return true
  }
  return false
}
