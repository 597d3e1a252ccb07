import assert from 'node:assert'
import type { Columns } from '../segment/columns.ts'
import { firstSteps, loadTieSet, openTieSet } from './tie-set.ts'
import { openTieSplit } from './tie-split.ts'

/** The users of a fold group, and a funnel's chains among their events. */
export interface ChainShape {
  readonly userCount: number
  readonly stepCount: number
  readonly windowMs: number
}

export interface Chains {
  /** Goes on with rows in time order, all later than those of the call before. */
  readonly fold: (columns: Columns, masks: Uint32Array) => void
  /** Returns, by user, how many steps the user's best chain has so far. */
  readonly furthest: () => Uint8Array
}

/**
 * Finds each user's longest chain: distinct events in step order, with non-decreasing times, all within
 * `windowMs` (its end included) of the chain's first.
 *
 * For each user and step it keeps the newest start of a chain that has reached the step. Older ones are
 * not needed: what they can still reach within the window, the newest can reach too. The idea is that of
 * ClickHouse's `windowFunnel`; events of equal time are matched as a set instead of in their order.
 */
export function openChains({ userCount, stepCount, windowMs }: ChainShape): Chains {
  // By user, then step. Never rises with the step, since a chain has reached all steps before its last.
  const startMs = new Float64Array(userCount * stepCount).fill(-Infinity)
  const splitTies = openTieSplit(userCount)
  const tieSet = openTieSet(stepCount)
  let lastMs = -Infinity

  function takeOne(user: number, timeMs: number, mask: number): void {
    const base = user * stepCount
    // The last step first, so that one event takes a chain one step further, not two.
    for (let rest = mask; rest !== 0;) {
      const step = 31 - Math.clz32(rest)
      rest ^= 1 << step
      const chainStartMs = step === 0 ? timeMs : startMs[base + step - 1]!
      if (timeMs - chainStartMs <= windowMs) startMs[base + step] = chainStartMs
    }
  }

  /** The same for several events of one user and time: a chain may take a run of steps among them. */
  function takeTied(user: number, timeMs: number): void {
    const base = user * stepCount
    const firstStep = firstSteps(tieSet, stepCount)
    for (let step = stepCount - 1; step >= 0; step--) {
      const first = firstStep[step]!
      if (first > step) continue
      const chainStartMs = first === 0 ? timeMs : startMs[base + first - 1]!
      if (timeMs - chainStartMs <= windowMs) startMs[base + step] = chainStartMs
    }
  }

  function fold({ rowCount, timeMs, user }: Columns, masks: Uint32Array): void {
    for (let row = 0; row < rowCount; row++) {
      const mask = masks[row]!
      if (mask === 0) continue
      const rowMs = timeMs[row]!
      assert(rowMs > lastMs && user[row]! < userCount, 'rows in time order, of users of the group')
      lastMs = rowMs
      if (row + 1 === rowCount || timeMs[row + 1] !== rowMs) {
        takeOne(user[row]!, rowMs, mask)
        continue
      }
      const from = row
      while (row + 1 < rowCount && timeMs[row + 1] === rowMs) row++
      splitTies({ user, masks, from, to: row + 1 }, (tiedUser, rows, tiedCount) => {
        if (tiedCount === 1) return takeOne(tiedUser, rowMs, masks[rows[0]!]!)
        loadTieSet(tieSet, masks, rows, tiedCount)
        takeTied(tiedUser, rowMs)
      })
    }
  }

  return { fold, furthest: () => stepsReached(startMs, stepCount) }
}

function stepsReached(startMs: Float64Array, stepCount: number): Uint8Array {
  const reached = new Uint8Array(startMs.length / stepCount)
  for (let user = 0; user < reached.length; user++) {
    let count = 0
    while (count < stepCount && startMs[user * stepCount + count] !== -Infinity) count++
    reached[user] = count
  }
  return reached
}
