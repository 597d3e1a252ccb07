import assert from 'node:assert'
import type { Span } from './merge-runs.ts'

/**
 * The step events of one user at one time, to be given to steps one-to-one: by augmenting paths (Kuhn
 * 1955). Filled by `loadTieSet` and used again for the next set.
 */
export interface TieSet {
  readonly stepCount: number
  /** By event kept: its steps, its index among the rows loaded, the step that it has, its last search. */
  readonly mask: Int32Array
  readonly index: Int32Array
  readonly stepOf: Int8Array
  readonly seenIn: Int32Array
  /** By step: the event that has it, how many of the events kept satisfy it, the answer of `firstSteps`. */
  readonly eventOf: Int32Array
  readonly keptOf: Int32Array
  readonly first: Uint8Array
  /** By index: the answer of `leaders`. */
  isLeader: Uint8Array
  keptCount: number
  search: number
}

const FREE = -1

/** Makes an empty set for funnels of `stepCount` steps. */
export function openTieSet(stepCount: number): TieSet {
  const keptMax = stepCount * stepCount
  return {
    stepCount,
    mask: new Int32Array(keptMax),
    index: new Int32Array(keptMax),
    stepOf: new Int8Array(keptMax),
    seenIn: new Int32Array(keptMax),
    eventOf: new Int32Array(stepCount),
    keptOf: new Int32Array(stepCount),
    first: new Uint8Array(stepCount),
    isLeader: new Uint8Array(16),
    keptCount: 0,
    search: 0,
  }
}

/** Fills the set with the rows that a part of `rows` names; `masks` holds their steps. */
export function loadTieSet(
  set: TieSet,
  masks: Uint32Array,
  rows: Int32Array,
  { from, to }: Span,
): void {
  if (set.isLeader.length < to - from) set.isLeader = new Uint8Array(2 * (to - from))
  set.keptOf.fill(0)
  set.keptCount = 0
  for (let index = 0; index < to - from; index++) {
    const mask = masks[rows[from + index]!]! | 0
    set.isLeader[index] = mask & 1
    if (!isNeeded(set, mask)) continue
    countSteps(set, mask)
    set.mask[set.keptCount] = mask
    set.index[set.keptCount++] = index
  }
}

/**
 * Returns, for each step j below `stepCount`, the smallest i so that the steps i to j can be given to
 * distinct events of the set; j + 1 where no event satisfies j. Never falls with j. Valid until the next
 * call. Two pointers: at most 2 × stepCount searches.
 */
export function firstSteps(set: TieSet, stepCount: number): Uint8Array {
  clear(set)
  let first = 0
  for (let step = 0; step < stepCount; step++) {
    while (first <= step && !match(set, step)) {
      if (first < step) set.stepOf[set.eventOf[first]!] = FREE
      first++
    }
    set.first[step] = first
  }
  return set.first
}

/**
 * Returns, by index into the rows loaded, 1 for each event that can take step 0 while others take the
 * steps 1 to `lastStep`. The steps 0 to `lastStep` must be matchable; one call for each load. At most
 * 2 × stepCount searches.
 */
export function leaders(set: TieSet, lastStep: number): Uint8Array {
  clear(set)
  for (let step = 0; step <= lastStep; step++) {
    const isMatched = match(set, step)
    assert(isMatched)
  }
  // An event without a step can take step 0 from its holder, so only those with another are in doubt.
  for (const event of set.eventOf.slice(1, lastStep + 1)) {
    const index = set.index[event]!
    if (set.isLeader[index] === 1 && !canLead(set, event)) set.isLeader[index] = 0
  }
  return set.isLeader
}

/** Returns the lowest step of a mask that is not 0. */
export function lowestStep(mask: number): number {
  return 31 - Math.clz32(mask & -mask)
}

// Where a step has as many events as there are steps, one of them is free whatever the others take. So an
// event whose steps all have that many can be left out, and a set never exceeds stepCount².
function isNeeded({ keptOf, stepCount }: TieSet, mask: number): boolean {
  for (let rest = mask; rest !== 0; rest &= rest - 1)
    if (keptOf[lowestStep(rest)]! < stepCount) return true
  return false
}

function countSteps({ keptOf }: TieSet, mask: number): void {
  for (let rest = mask; rest !== 0; rest &= rest - 1) keptOf[lowestStep(rest)]!++
}

function clear(set: TieSet): void {
  set.stepOf.fill(FREE, 0, set.keptCount)
  set.seenIn.fill(0, 0, set.keptCount)
  set.search = 0
}

/** Gives a step to an event, moving others where it must; false where it cannot be done. */
function match(set: TieSet, step: number): boolean {
  set.search++
  return augment(set, step)
}

function augment(set: TieSet, step: number): boolean {
  for (let event = 0; event < set.keptCount; event++) {
    if ((set.mask[event]! & (1 << step)) === 0 || set.seenIn[event] === set.search) continue
    set.seenIn[event] = set.search
    const holds = set.stepOf[event]!
    if (holds !== FREE && !augment(set, holds)) continue
    set.stepOf[event] = step
    set.eventOf[step] = event
    return true
  }
  return false
}

/** Gives step 0 to an event if another can be found for the step that it has. */
function canLead(set: TieSet, event: number): boolean {
  const step = set.stepOf[event]!
  if (step === FREE || step === 0) return true
  const leader = set.eventOf[0]!
  set.stepOf[leader] = FREE
  set.stepOf[event] = 0
  set.search++
  set.seenIn[event] = set.search // Step 0 is not to be moved again.
  if (augment(set, step)) {
    set.eventOf[0] = event
    return true
  }
  set.stepOf[leader] = 0
  set.stepOf[event] = step
  return false
}
