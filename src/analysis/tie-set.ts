import type { Span } from './merge-runs.ts'
import { lowestStep } from './step-bits.ts'

/**
 * The step events of one user at one time, to be given to steps one-to-one: by augmenting paths (Kuhn
 * 1955). Filled by `loadTieSet` and used again for the next set.
 */
export interface TieSet {
  readonly stepCount: number
  /** By event kept: its steps, the step that it has, its last search. */
  readonly mask: Int32Array
  readonly stepOf: Int8Array
  readonly seenIn: Int32Array
  /** By step: the event that has it, how many of the events kept satisfy it, the answer of `firstSteps`. */
  readonly eventOf: Int32Array
  readonly keptOf: Int32Array
  readonly first: Uint8Array
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
    stepOf: new Int8Array(keptMax),
    seenIn: new Int32Array(keptMax),
    eventOf: new Int32Array(stepCount),
    keptOf: new Int32Array(stepCount),
    first: new Uint8Array(stepCount),
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
  set.keptOf.fill(0)
  set.keptCount = 0
  for (let index = 0; index < to - from; index++) {
    const mask = masks[rows[from + index]!]! | 0
    if (!isNeeded(set, mask)) continue
    countSteps(set, mask)
    set.mask[set.keptCount++] = mask
  }
}

/**
 * Returns, for each step j below `stepCount`, the smallest i so that the steps i to j can be given to
 * distinct events of the set; j + 1 where no event satisfies j. Never falls with j. Valid until the next
 * call. Two pointers: at most 2 × stepCount searches.
 */
export function firstSteps(set: TieSet, stepCount: number): Uint8Array {
  unmatchAll(set)
  let first = 0
  for (let step = 0; step < stepCount; step++) {
    while (first <= step && !matchStep(set, step)) {
      if (first < step) unmatchStep(set, first)
      first++
    }
    set.first[step] = first
  }
  return set.first
}

/** Whether the steps of a mask can be given to distinct events of the set. */
export function canMatch(set: TieSet, steps: number): boolean {
  unmatchAll(set)
  for (let rest = steps; rest !== 0; rest &= rest - 1)
    if (!matchStep(set, lowestStep(rest))) return false
  return true
}

/** Takes their events from all steps. */
export function unmatchAll(set: TieSet): void {
  set.stepOf.fill(FREE, 0, set.keptCount)
  set.seenIn.fill(0, 0, set.keptCount)
  set.search = 0
}

/** Gives one more step an event, moving others where it must; false, and nothing changes, where it cannot be done. */
export function matchStep(set: TieSet, step: number): boolean {
  set.search++
  return augment(set, step)
}

/** Takes its event from a step that has one. */
export function unmatchStep(set: TieSet, step: number): void {
  set.stepOf[set.eventOf[step]!] = FREE
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
