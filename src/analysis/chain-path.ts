import assert from 'node:assert'
import { isTied, START, type Moments, type Moves } from './moments.ts'
import { unbroken, type FoundChain, type SequenceShape } from './sequence.ts'
import { bitOf, lowestStep } from './step-bits.ts'
import type { TieValues } from './tie-values.ts'

/** A chain event by event. In any order, step k is the one that was k-th in time. */
export interface Chain {
  entryMs: number
  /** Bit k: it has step k. */
  taken: number
  /** By step; meaningful for those taken. */
  readonly timeMs: Float64Array
  /** By step, the code of its event's value. */
  readonly code: Uint32Array
}

export function openChain(stepCount: number): Chain {
  return {
    ...{ entryMs: 0, taken: 0 },
    ...{ timeMs: new Float64Array(stepCount), code: new Uint32Array(stepCount) },
  }
}

/**
 * What matters of a chain beside its entry's time and its steps: the times and values of all steps; or the first
 * value, which is the entry's where that has one; or nothing.
 */
export type PathAsked = 'all' | 'entry value' | 'nothing'

const CANNOT = -2

/**
 * Finds the events of a chain: of all chains from that entry with these steps, the one that has each step in turn as
 * early as possible, and where events of one moment can do, those whose values `tieValues` prefers. So it depends on
 * nothing but the events. Goes back from the end, noting with which steps the chain can still be completed, then
 * forth: linear in the moments.
 */
export function openPaths(shape: SequenceShape, moves: Moves, tieValues: TieValues | null) {
  const { stepCount, isStrict } = shape
  const chain = openChain(stepCount)
  /** The chain's steps. */
  const steps = new Int32Array(stepCount)
  let count = 0
  /** By j + 1 (START: 0): up to which of the chain's steps all after the j-th can be had at one moment. */
  const lastOf = new Int32Array(stepCount + 1)
  /** By moment from the entry's on: bit j is set if, with its first j + 1 steps, the chain can be completed later. */
  let completable = new Int32Array(16)

  /**
   * Returns the last of the chain's steps that it can have after a moment, to be completed later, if it had its j-th
   * before (START: none). CANNOT where there is none.
   */
  function furthestAt(moments: Moments, at: number, j: number, after: number): number {
    const allowed = j === START ? -1 : unbroken(shape, moments.excluded[at]!, steps[j]!)
    let furthest = CANNOT
    if (j !== START && (after & bitOf(j)) !== 0) {
      const bit = bitOf(steps[j]!)
      const isUncut = !isStrict || j === count - 1 || (moments.all[at]! & bit) !== 0
      if (isUncut && (allowed & bit) !== 0) furthest = j
    }
    for (let to = isTied(moments, at) ? lastOf[j + 1]! : lastOfOne(moments, at, j); to > j; to--)
      if ((after & bitOf(to)) !== 0 && (allowed & bitOf(steps[to]!)) !== 0) return to
    return furthest
  }

  function lastOfOne({ any }: Moments, at: number, j: number): number {
    return j + 1 < count && (any[at]! & bitOf(steps[j + 1]!)) !== 0 ? j + 1 : j
  }

  /** With two pointers, since the last step never falls. Only for moments of several events. */
  function writeLast(moments: Moments, at: number): void {
    if (!isTied(moments, at)) return
    let last = START
    let asked = 0
    for (let j = START; j < count; j++) {
      if (last <= j) {
        last = j
        asked = 0
      } else asked &= ~bitOf(steps[j]!)
      for (; last + 1 < count; last++) {
        const more = asked | bitOf(steps[last + 1]!)
        if (!moves.canTake(moments, at, more)) break
        asked = more
      }
      lastOf[j + 1] = last
    }
  }

  function goBack(moments: Moments, entry: number, last: number): void {
    if (completable.length <= last - entry) completable = new Int32Array(2 * (last - entry) + 2)
    let after = bitOf(count - 1)
    for (let at = last; at > entry; at--) {
      completable[at - entry] = after
      if (moments.any[at] === 0 && moments.excluded[at] === 0 && !isStrict) continue
      let before = 0
      writeLast(moments, at)
      for (let j = 0; j < count; j++)
        if (furthestAt(moments, at, j, after) !== CANNOT) before |= bitOf(j)
      after = before
    }
    completable[0] = after
  }

  /** Gives the chain's steps `first` to `last` to events of a moment. */
  function take(moments: Moments, at: number, first: number, last: number): void {
    let taken = 0
    for (let j = first; j <= last; j++) {
      chain.timeMs[steps[j]!] = moments.timeMs[at]!
      taken |= bitOf(steps[j]!)
    }
    if (taken !== 0) tieValues?.write(moments, at, taken, chain.code)
  }

  /** Whether the value of the entry is known and is all that is asked for. */
  function isEntryEnough({ events, from }: Moments, entry: number): boolean {
    const row = from[entry]!
    chain.code[0] = events.code[row]!
    return from[entry + 1]! - row === 1 && chain.code[0] !== 0
  }

  return (moments: Moments, { entry, last, taken }: FoundChain, asked: PathAsked): Chain => {
    chain.entryMs = moments.timeMs[entry]!
    chain.taken = taken
    if (asked === 'nothing') return chain
    if (asked === 'entry value' && isEntryEnough(moments, entry)) return chain
    count = 0
    for (let rest = taken; rest !== 0; rest &= rest - 1) steps[count++] = lowestStep(rest)
    if (count === 1) {
      take(moments, entry, 0, 0)
      return chain
    }
    goBack(moments, entry, last)
    for (let at = entry, j = START; j < count - 1; at++) {
      assert(at <= last)
      writeLast(moments, at)
      const next = furthestAt(moments, at, j, completable[at - entry]!)
      assert(next !== CANNOT)
      take(moments, at, j + 1, next)
      j = next
    }
    return chain
  }
}
