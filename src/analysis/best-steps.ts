import { isTied, type Moments, type Moves } from './moments.ts'
import { unbroken, type SequenceShape } from './sequence.ts'
import { bitOf, hasMoreSteps, highestStep, lowestStep } from './step-bits.ts'

/** Of the clean chains from an entry at a moment, as steps: those that stay clean, that are gained, that could go on. */
export interface CleanGain {
  readonly clean: number
  readonly cleanGained: number
  readonly cleanOpen: number
}

/**
 * Keeps, where steps may be left out, the steps of the best clean chain that ends with each step, as a part of `words`
 * from `best` on; 0 where there is no such chain.
 */
export function openBestSteps(shape: SequenceShape, moves: Moves) {
  const { stepCount, optional } = shape
  const before = new Int32Array(stepCount)
  const coming = new Int32Array(stepCount)
  let comingOf = 0
  writeComing(shape, comingOf, coming)

  /** The last step first, so that one moment's events are not taken twice. */
  function noteTied(
    words: Int32Array,
    best: number,
    moments: Moments,
    at: number,
    { clean, cleanGained, cleanOpen }: CleanGain,
  ): void {
    for (let from = stepCount - 1; from >= 0; from--) {
      const steps = words[best + from]!
      if ((clean & bitOf(from)) === 0) words[best + from] = 0
      if ((cleanOpen & bitOf(from)) === 0) continue
      const allowed = unbroken(shape, moments.excluded[at]!, from) & cleanGained
      for (let rest = moves.from(moments, at, from) & allowed; rest !== 0; rest &= rest - 1) {
        const to = lowestStep(rest)
        const taken = steps | moves.taken(moments, at, from, to)
        if (hasMoreSteps(taken, words[best + to]!)) words[best + to] = taken
      }
    }
  }

  /**
   * A single event adds the same step to all chains that take it as that. So the best chain before each step is the
   * best of those that can go to it, and these become more as the steps go up: linear in the steps.
   */
  function noteOne(
    words: Int32Array,
    best: number,
    excluded: number,
    { clean, cleanGained, cleanOpen }: CleanGain,
  ): void {
    if (comingOf !== excluded) writeComing(shape, (comingOf = excluded), coming)
    for (let step = 0; step < stepCount; step++) {
      before[step] = words[best + step]!
      if ((clean & bitOf(step)) === 0) words[best + step] = 0
    }
    const last = highestStep(cleanGained)
    let steps = 0
    for (let to = 1; to <= last; to++) {
      if ((optional & bitOf(to - 1)) === 0) steps = 0
      for (let rest = coming[to]! & cleanOpen; rest !== 0; rest &= rest - 1) {
        const from = before[lowestStep(rest)]!
        if (hasMoreSteps(from, steps)) steps = from
      }
      if ((cleanGained & bitOf(to)) === 0) continue
      const taken = steps | bitOf(to)
      if (hasMoreSteps(taken, words[best + to]!)) words[best + to] = taken
    }
  }

  /** Takes a moment. */
  return (words: Int32Array, best: number, moments: Moments, at: number, gain: CleanGain): void => {
    if (isTied(moments, at)) noteTied(words, best, moments, at, gain)
    else noteOne(words, best, moments.excluded[at]!, gain)
  }
}

/**
 * Writes by step which steps a chain may have for it to be the first one that the chain can go to, by what is
 * excluded. The chain can go to all later ones too, as far as none between must be had.
 */
function writeComing(shape: SequenceShape, excluded: number, coming: Int32Array): void {
  coming.fill(0)
  for (let from = 0; from < shape.stepCount; from++) {
    const first = Math.max(from + 1, lowestStep(unbroken(shape, excluded, from)))
    let to = from + 1
    while (to < first && (shape.optional & bitOf(to)) !== 0) to++
    if (to === first && to < shape.stepCount) coming[to]! |= bitOf(from)
  }
}
