import assert from 'node:assert'
import { ALL_STEPS, below, bitOf, lowestStep, stepCountOf } from './step-bits.ts'
import { canMatch, loadTieSet, matchStep, openTieSet, unmatchAll, unmatchStep } from './tie-set.ts'

/** The events of a unit, in time order: what is looked for one chain, or for several. */
export interface UnitEvents {
  readonly timeMs: Float64Array
  readonly mask: Uint32Array
  readonly excluded: Uint32Array
  /** Of the breakdown's value. */
  readonly code: Uint32Array
}

/** Makes columns for so many events, to be written. */
export function openUnitEvents(rowCount: number) {
  const column = () => new Uint32Array(rowCount)
  return {
    timeMs: new Float64Array(rowCount),
    ...{ mask: column(), excluded: column(), code: column() },
  }
}

/** The events of a unit by time: those of one moment may be taken in any order. */
export interface Moments {
  events: UnitEvents
  count: number
  timeMs: Float64Array
  /** By moment: its first row. One more than there are moments. */
  from: Int32Array
  /** By moment, the bits that any of its events has, and those that all have. */
  any: Uint32Array
  all: Uint32Array
  excluded: Uint32Array
  /** The bits that any event has; all bits where any is excluded. */
  union: number
}

export function openMoments(): Moments {
  return {
    events: openUnitEvents(0),
    ...{ count: 0, timeMs: new Float64Array(16), from: new Int32Array(17) },
    ...{ any: new Uint32Array(16), all: new Uint32Array(16), excluded: new Uint32Array(16) },
    union: 0,
  }
}

/** Cuts the rows `from` to `to` - 1 into moments. */
export function cutMoments(moments: Moments, events: UnitEvents, from: number, to: number): void {
  moments.events = events
  if (moments.timeMs.length < to - from) {
    const size = 2 * (to - from)
    moments.timeMs = new Float64Array(size)
    moments.from = new Int32Array(size + 1)
    moments.any = new Uint32Array(size)
    moments.all = new Uint32Array(size)
    moments.excluded = new Uint32Array(size)
  }
  let at = -1
  let lastMs = NaN
  let union = 0
  for (let row = from; row < to; row++) {
    const mask = events.mask[row]!
    const excluded = events.excluded[row]!
    union |= mask | (excluded === 0 ? 0 : ALL_STEPS)
    if (events.timeMs[row] !== lastMs) {
      at++
      lastMs = events.timeMs[row]!
      moments.timeMs[at] = lastMs
      moments.from[at] = row
      moments.any[at] = mask
      moments.all[at] = mask
      moments.excluded[at] = excluded
    } else {
      moments.any[at]! |= mask
      moments.all[at]! &= mask
      moments.excluded[at]! |= excluded
    }
  }
  moments.count = at + 1
  moments.union = union
  moments.from[at + 1] = to
}

/** Whether a moment has several events. */
export function isTied({ from }: Moments, at: number): boolean {
  return from[at + 1]! - from[at]! > 1
}

/** Before the first step. */
export const START = -1

/**
 * Tells which steps a chain can go to at a moment, giving each step an event of its own. A chain that has step p may
 * take later ones, and leave out optional ones.
 */
export function openMoves(stepCount: number, optional: number) {
  const tieSet = openTieSet(stepCount)
  /** By p + 1, of the moment that is loaded: where a chain with step p can go to, once it is known. */
  const reachable = new Int32Array(stepCount + 1)
  const isKnown = new Uint8Array(stepCount + 1)
  /** By p + 1 and q: the answers of `taken`; 0 where it was not asked yet. */
  const takenSteps = new Int32Array((stepCount + 1) * stepCount)
  let rows = new Int32Array(0)
  let loaded: { moments: Moments; at: number } | null = null

  /** The steps that must have an event if a chain goes from p to q. */
  const neededFor = (p: number, q: number) => (below(q) & ~below(p + 1) & ~optional) | bitOf(q)

  function load(moments: Moments, at: number): void {
    if (loaded !== null && loaded.moments === moments && loaded.at === at) return
    const [from, to] = [moments.from[at]!, moments.from[at + 1]!]
    if (rows.length < to - from) rows = new Int32Array(2 * (to - from))
    for (let row = from; row < to; row++) rows[row - from] = row
    loadTieSet(tieSet, moments.events.mask, rows, { from: 0, to: to - from })
    loaded = { moments, at }
    isKnown.fill(0)
    takenSteps.fill(0)
  }

  function tiedFrom(moments: Moments, at: number, p: number): number {
    load(moments, at)
    if (isKnown[p + 1] === 0) {
      reachable[p + 1] = reachableFrom(moments.any[at]!, p)
      isKnown[p + 1] = 1
    }
    return reachable[p + 1]!
  }

  /** Goes up from step p, with an event for each step that a chain cannot leave out. */
  function reachableFrom(any: number, p: number): number {
    unmatchAll(tieSet)
    let found = 0
    for (let q = p + 1; q < stepCount; q++) {
      const canLeaveOut = (optional & bitOf(q)) !== 0
      if ((any & bitOf(q)) !== 0 && matchStep(tieSet, q)) {
        found |= bitOf(q)
        if (canLeaveOut) unmatchStep(tieSet, q)
      } else if (!canLeaveOut) break
    }
    return found
  }

  function tiedTaken(any: number, p: number, q: number): number {
    let steps = neededFor(p, q)
    assert(canMatch(tieSet, steps))
    const left = optional & below(q) & ~below(p + 1) & any
    let count = stepCountOf(steps)
    for (let rest = left; rest !== 0 && count < tieSet.keptCount; rest &= rest - 1) {
      if (!matchStep(tieSet, lowestStep(rest))) continue
      steps |= rest & -rest
      count++
    }
    return steps
  }

  /** Returns the steps that a chain with step p (START: none) can go to. */
  function from(moments: Moments, at: number, p: number): number {
    const any = moments.any[at]!
    if (any === 0) return 0
    if (isTied(moments, at)) return tiedFrom(moments, at, p)
    return next(p === START ? 1 : bitOf(p) << 1) & any
  }

  /** Adds to the steps of a mask the ones that may be taken instead, since those before them are optional. */
  function next(steps: number): number {
    let all = steps
    for (let more = steps; optional !== 0 && (more = (more & optional) << 1) !== 0;) all |= more
    return all
  }

  return {
    from,

    /** Returns the steps that chains, each with one of the steps of a mask, can go to. */
    fromAny(moments: Moments, at: number, steps: number): number {
      const any = moments.any[at]!
      if (any === 0) return 0
      if (!isTied(moments, at)) return next(steps << 1) & any
      let found = 0
      for (let rest = steps; rest !== 0; rest &= rest - 1)
        found |= tiedFrom(moments, at, lowestStep(rest))
      return found
    },

    /** Returns the most steps that a chain takes on its way from p to q, which it can go to: those before q as early as possible. */
    taken(moments: Moments, at: number, p: number, q: number): number {
      if (optional === 0 || !isTied(moments, at)) return neededFor(p, q)
      load(moments, at)
      return (takenSteps[(p + 1) * stepCount + q]! ||= tiedTaken(moments.any[at]!, p, q))
    },

    /** Whether the steps of a mask can be given to distinct events. */
    canTake(moments: Moments, at: number, steps: number): boolean {
      if ((steps & ~moments.any[at]!) !== 0) return false
      if ((steps & (steps - 1)) === 0) return true
      if (!isTied(moments, at)) return false
      load(moments, at)
      return canMatch(tieSet, steps)
    },

    /** Must be called before a Moments is filled anew. */
    forget(): void {
      loaded = null
    },
  }
}

export type Moves = ReturnType<typeof openMoves>
