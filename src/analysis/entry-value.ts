import type { CodedColumn, Columns, Value } from '../segment/columns.ts'
import type { ChainShape } from './chain.ts'
import { compareTexts, textOf } from './condition.ts'
import { firstSteps, leaders, loadTieSet, lowestStep, openTieSet } from './tie-set.ts'
import { openTieSplit, type TieSplit } from './tie-split.ts'

/** Rows of a fold group with their step masks, and the column to break down by (if there is one). */
export interface EntryRows {
  readonly columns: Columns
  readonly masks: Uint32Array
  readonly values: CodedColumn | undefined
}

/**
 * Returns, by user, the value at the entry that the user's best chain begins with: of all entries from
 * which a chain reaches the user's furthest step, the earliest; of several at that time, the one whose
 * value is the smallest as text, a missing one last. Null where that is missing or the user has no entry.
 *
 * `parts` are in time order, equal times in one part only; `furthest` tells each user's count of steps.
 *
 * It goes back in time and keeps, for each user and step k, the earliest end of a chain from k to the
 * user's furthest step among the events seen. Later ends are not needed: what may precede them may precede
 * the earliest too. So an entry is decided when it is met, and the whole is linear in the rows.
 */
export function entryValues(
  parts: readonly EntryRows[],
  furthest: Uint8Array,
  { userCount, stepCount, windowMs }: ChainShape,
): (Value | null)[] {
  const chosen = new Array<Value | null>(userCount).fill(null)
  // By user, then step. Never rises with the step.
  const endMs = new Float64Array(userCount * stepCount).fill(Infinity)
  const tieSet = openTieSet(stepCount)

  function takeOne(part: EntryRows, row: number, timeMs: number): void {
    const user = part.columns.user[row]!
    const count = furthest[user]!
    const base = user * stepCount
    // The first step first, so that one event takes a chain one step back, not two.
    for (let rest = part.masks[row]! & below(count); rest !== 0; rest &= rest - 1) {
      const step = lowestStep(rest)
      const chainEndMs = step === count - 1 ? timeMs : endMs[base + step + 1]!
      endMs[base + step] = chainEndMs
      if (step === 0 && chainEndMs - timeMs <= windowMs) chosen[user] = valueAt(part, row)
    }
  }

  function takeTied(part: EntryRows, rows: Int32Array, rowCount: number, timeMs: number): void {
    const user = part.columns.user[rows[0]!]!
    const count = furthest[user]!
    if (count === 0) return
    const base = user * stepCount
    loadTieSet(tieSet, part.masks, rows, rowCount)
    const firstStep = firstSteps(tieSet, count)

    // The first step from which later events can finish in time: up to it, these events must do.
    let needed = 0
    while (needed < count - 1 && endMs[base + needed + 1]! - timeMs > windowMs) needed++
    const isEntry = firstStep[needed] === 0

    let last = -1
    for (let step = 0; step < count; step++) {
      while (last + 1 < count && firstStep[last + 1]! <= step) last++
      if (last >= step) endMs[base + step] = last === count - 1 ? timeMs : endMs[base + last + 1]!
    }
    if (isEntry) chosen[user] = smallestValue(part, rows, rowCount, leaders(tieSet, needed))
  }

  const splitTies = openTieSplit(userCount)
  for (const part of parts.toReversed()) foldBack(part, splitTies, takeOne, takeTied)
  return chosen
}

/** Goes through the rows of a part from the last to the first, those of one user and time as one. */
function foldBack(
  part: EntryRows,
  splitTies: TieSplit,
  takeOne: (part: EntryRows, row: number, timeMs: number) => void,
  takeTied: (part: EntryRows, rows: Int32Array, rowCount: number, timeMs: number) => void,
): void {
  const { masks } = part
  const { rowCount, timeMs, user } = part.columns
  for (let row = rowCount - 1; row >= 0; row--) {
    if (masks[row] === 0) continue
    const rowMs = timeMs[row]!
    if (row === 0 || timeMs[row - 1] !== rowMs) {
      takeOne(part, row, rowMs)
      continue
    }
    const to = row + 1
    while (row > 0 && timeMs[row - 1] === rowMs) row--
    splitTies({ user, masks, from: row, to }, (_, rows, tiedCount) => {
      if (tiedCount === 1) takeOne(part, rows[0]!, rowMs)
      else takeTied(part, rows, tiedCount, rowMs)
    })
  }
}

/** Returns the mask of the first `count` steps, 0 to 32. */
function below(count: number): number {
  return count === 0 ? 0 : -1 >>> (32 - count)
}

function valueAt({ values }: EntryRows, row: number): Value | null {
  return values === undefined ? null : values.values[values.codes[row]!]!
}

function smallestValue(
  part: EntryRows,
  rows: Int32Array,
  rowCount: number,
  isLeader: Uint8Array,
): Value | null {
  let smallest: Value | null = null
  for (let index = 0; index < rowCount; index++) {
    if (isLeader[index] === 0) continue
    const value = valueAt(part, rows[index]!)
    if (value === null) continue
    if (smallest === null || compareTexts(textOf(value), textOf(smallest)) < 0) smallest = value
  }
  return smallest
}
