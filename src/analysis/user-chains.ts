import { openAnyOrder } from './any-order.ts'
import { openPaths, type Chain, type PathAsked } from './chain-path.ts'
import type { FunnelBreakdown, FunnelSpec } from './funnel-spec.ts'
import { cutMoments, openMoments, openMoves, type UnitEvents } from './moments.ts'
import { openSequences, sequenceShapeOf, type FoundChain } from './sequence.ts'
import { ALL_STEPS, bitOf, highestStep, lowestStep } from './step-bits.ts'
import type { TextCodes } from './text-codes.ts'
import { openTieValues, type TieValues } from './tie-values.ts'
import { openUnits } from './units.ts'
import type { UserRows } from './user-rows.ts'
import { openValueUnits } from './value-units.ts'

/** What a chain stands for: a unit of the whole, of a value of the breakdown, or of both. */
export interface ChainPart {
  readonly isOfWhole: boolean
  readonly isOfValue: boolean
}

const WHOLE: ChainPart = { isOfWhole: true, isOfValue: false }
const VALUE: ChainPart = { isOfWhole: false, isOfValue: true }
const BOTH: ChainPart = { isOfWhole: true, isOfValue: true }

/** Takes a chain, which is valid until it returns, and the code of its value. */
export type TakeChain = (chain: Chain, code: number, part: ChainPart) => void

/**
 * Finds the chains that count of one user: the best one of each unit, or one for each attempt. `areTimesAsked`: at
 * which times the chain has its steps matters, not only which steps it has.
 */
export function openUserChains(spec: FunnelSpec, texts: TextCodes, areTimesAsked: boolean) {
  const { breakdown } = spec
  const isEvery = breakdown?.attribution === 'every'
  const isValueAsked = breakdown !== null && !isEvery
  const tieValues = isValueAsked
    ? openTieValues(texts.texts, { stepCount: spec.steps.length, asked: valuedSteps(breakdown) })
    : null
  const asked = areTimesAsked ? 'all' : isValueAsked ? valueAskedOf(breakdown) : 'nothing'
  const findChains = openSearch(spec, tieValues, asked)
  const cut = openUnits(spec)
  const cutValues = openValueUnits(spec)
  let take: TakeChain = () => undefined
  const takeWhole = isValueAsked
    ? (chain: Chain) => take(chain, valueOf(breakdown, chain), BOTH)
    : (chain: Chain) => take(chain, 0, WHOLE)

  function takeUnit(events: UnitEvents, from: number, to: number): void {
    findChains(events, from, to, takeWhole)
    if (!isEvery) return
    cutValues(events, from, to, (code, ofCode, end) =>
      findChains(ofCode, 0, end, (chain) => take(chain, code, VALUE)),
    )
  }

  return (rows: UserRows, from: number, to: number, takeChain: TakeChain): void => {
    take = takeChain
    cut(rows, from, to, takeUnit)
  }
}

/** Opens the search for the chains of a unit. */
function openSearch(spec: FunnelSpec, tieValues: TieValues | null, asked: PathAsked) {
  const moments = openMoments()
  const areAttempts = spec.count === 'attempts'
  if (spec.order === 'any') {
    const anyOrder = openAnyOrder(spec, tieValues)
    return (events: UnitEvents, from: number, to: number, take: (chain: Chain) => void): void => {
      cutMoments(moments, events, from, to)
      if (areAttempts) {
        anyOrder.attempts(moments, take)
        return
      }
      const chain = anyOrder.best(moments)
      if (chain !== null) take(chain)
    }
  }
  const shape = sequenceShapeOf(spec)
  const moves = openMoves(shape.stepCount, shape.optional)
  const sequences = openSequences(shape, moves, spec.entry === 'first')
  const pathOf = openPaths(shape, moves, tieValues)
  const chainOf = (found: FoundChain): Chain => pathOf(moments, found, asked)
  return (events: UnitEvents, from: number, to: number, take: (chain: Chain) => void): void => {
    cutMoments(moments, events, from, to)
    moves.forget()
    if (areAttempts) sequences.attempts(moments, (found) => take(chainOf(found)))
    else {
      const found = sequences.best(moments)
      if (found !== null) take(chainOf(found))
    }
  }
}

function valueAskedOf({ attribution }: FunnelBreakdown): PathAsked {
  return attribution === 'first' ? 'entry value' : 'all'
}

/** Returns the steps whose values tell what a chain counts under: those of other steps may not have been read. */
function valuedSteps({ attribution, step }: FunnelBreakdown): number {
  return attribution === 'step' ? bitOf(step) : ALL_STEPS
}

/** Returns the code of the value that a chain counts under; 0 for a missing one. */
function valueOf({ attribution, step: asked }: FunnelBreakdown, { taken, code }: Chain): number {
  if (attribution === 'step') return (taken & bitOf(asked)) === 0 ? 0 : code[asked]!
  if (attribution === 'first') {
    for (let rest = taken; rest !== 0; rest &= rest - 1)
      if (code[lowestStep(rest)] !== 0) return code[lowestStep(rest)]!
    return 0
  }
  for (let step = highestStep(taken); step >= 0; step--)
    if ((taken & bitOf(step)) !== 0 && code[step] !== 0) return code[step]!
  return 0
}
