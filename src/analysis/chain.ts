import assert from 'node:assert'
import type { EntryRun } from './day-rows.ts'
import { growRows, openRows, type Rows, type Span } from './merge-runs.ts'
import { firstSteps, loadTieSet, openTieSet } from './tie-set.ts'
import { isOfManyUsers, openTieSplit, splitTie } from './tie-split.ts'

/** Later than every time of a day. */
const NEVER = 0xffff_ffff

/** Where the next entry and the next row are. */
interface Heads {
  entry: number
  row: number
}

/** What makes a chain. Steps are 1 to 32. */
export interface ChainShape {
  readonly stepCount: number
  readonly windowMs: number
}

/** What is kept of the chains of a fold group. */
export interface ChainState {
  readonly userCount: number
  /** By user, then step; -Infinity where no chain has reached it. Never rises with the step. May be longer. */
  readonly startMs: Float64Array
}

/** The events of a day that may be steps. */
export interface ChainDay {
  readonly rows: Rows
  readonly span: Span
  readonly entries: EntryRun
}

export interface Chains {
  readonly open: (userCount: number) => ChainState
  /**
   * Goes on with the rows of a span, and with entries beside them, each in time order and all later than those
   * of the call before; `startMs` is when their day begins. Each row has a bit.
   */
  readonly fold: (state: ChainState, day: ChainDay, startMs: number) => void
  /** Returns, by step, how many users have a chain that has reached it. */
  readonly users: (state: ChainState) => number[]
  /** Returns, by user, how many steps the user's best chain has so far; valid until the next call. */
  readonly furthest: (state: ChainState) => Uint8Array
  /** Gives a state back, for its arrays to be used again. */
  readonly release: (state: ChainState) => void
}

/**
 * Finds each user's longest chain: distinct events in step order, with non-decreasing times, all within
 * `windowMs` (its end included) of the chain's first.
 *
 * For each user and step it keeps the newest start of a chain that has reached the step. Older ones are
 * not needed: what they can still reach within the window, the newest can reach too. The idea is that of
 * ClickHouse's `windowFunnel`; events of equal time are matched as a set instead of in their order.
 */
export function openChains({ stepCount, windowMs }: ChainShape): Chains {
  const tieSplit = openTieSplit()
  const tieSet = openTieSet(stepCount)
  const tiedRows = openRows()
  const free: ChainState[] = []
  let reached = new Uint8Array(0)

  /** Takes the rows of a span, all of one time. */
  function takeTie(state: ChainState, rows: Rows, span: Span, timeMs: number): void {
    const { user, mask } = rows
    const { startMs } = state
    for (let row = span.from; row < span.to; row++)
      if (user[row]! >= state.userCount) assert.fail('users of the group')
    if (isOfManyUsers(rows, span)) {
      for (let row = span.from; row < span.to; row++)
        takeSteps(startMs, user[row]!, mask[row]!, timeMs, stepCount, windowMs)
      return
    }
    splitTie(tieSplit, rows, span, state.userCount)
    for (let index = 0, from = 0; index < tieSplit.userCount; index++) {
      const to = tieSplit.ends[index]!
      const row = tieSplit.rows[from]!
      if (to - from === 1) takeSteps(startMs, user[row]!, mask[row]!, timeMs, stepCount, windowMs)
      else {
        loadTieSet(tieSet, mask, tieSplit.rows, { from, to })
        takeTied(startMs, user[row]!, timeMs)
      }
      from = to
    }
  }

  /** Takes several events of one user and time: a chain may take a run of steps among them. */
  function takeTied(startMs: Float64Array, user: number, timeMs: number): void {
    const base = user * stepCount
    const firstStep = firstSteps(tieSet, stepCount)
    for (let step = stepCount - 1; step >= 0; step--) {
      const first = firstStep[step]!
      if (first > step) continue
      const chainStartMs = first === 0 ? timeMs : startMs[base + first - 1]!
      if (timeMs - chainStartMs <= windowMs) startMs[base + step] = chainStartMs
    }
  }

  /**
   * Takes rows and entries in the order of their times: merged on the way, so that entries, which are most, stay
   * where they are.
   */
  function fold(state: ChainState, { rows, span, entries }: ChainDay, dayStartMs: number): void {
    const { timeMs: rowTimes, user: rowUsers, mask: rowMasks } = rows
    const { timeMs: entryTimes, user: entryUsers } = entries
    const { startMs, userCount } = state
    const at: Heads = { entry: entries.from, row: span.from }
    let { entry, row } = at
    let entryMs = entry < entries.to ? entryTimes[entry]! : NEVER
    let rowMs = row < span.to ? rowTimes[row]! : NEVER
    while (entryMs !== NEVER || rowMs !== NEVER) {
      const nowMs = entryMs <= rowMs ? entryMs : rowMs
      if (entryMs <= rowMs) {
        const nextMs = entry + 1 < entries.to ? entryTimes[entry + 1]! : NEVER
        if (nextMs > nowMs && rowMs > nowMs) {
          const user = entryUsers[entry]!
          if (user >= userCount) assert.fail('users of the group')
          // Of an event that is an entry and nothing else there is only its time to note.
          startMs[Math.imul(user, stepCount)] = dayStartMs + nowMs
          entry++
          entryMs = nextMs
          continue
        }
      } else {
        const nextMs = row + 1 < span.to ? rowTimes[row + 1]! : NEVER
        if (nextMs > nowMs) {
          const user = rowUsers[row]!
          if (user >= userCount) assert.fail('users of the group')
          // As `takeSteps` does; by hand, since a call would cost as much as all the rest.
          const timeMs = dayStartMs + nowMs
          const base = Math.imul(user, stepCount)
          for (let rest = rowMasks[row]!; rest !== 0;) {
            const step = 31 - Math.clz32(rest)
            rest ^= 1 << step
            const at = base + step
            if (step === 0) startMs[at] = timeMs
            else {
              const chainStartMs = startMs[at - 1]!
              if (timeMs - chainStartMs <= windowMs) startMs[at] = chainStartMs
            }
          }
          row++
          rowMs = nextMs
          continue
        }
      }
      at.entry = entry
      at.row = row
      const tied = gathered(rows, span, entries, at, nowMs)
      takeTie(state, tiedRows, tied, dayStartMs + nowMs)
      entry = at.entry
      row = at.row
      entryMs = entry < entries.to ? entryTimes[entry]! : NEVER
      rowMs = row < span.to ? rowTimes[row]! : NEVER
      if (entryMs < nowMs || rowMs < nowMs) assert.fail('rows in time order')
    }
  }

  /** Copies the next rows of one time, of both, to where they can be taken as a tie. */
  function gathered(rows: Rows, span: Span, entries: EntryRun, at: Heads, nowMs: number): Span {
    let { entry, row } = at
    while (entry < entries.to && entries.timeMs[entry] === nowMs) entry++
    while (row < span.to && rows.timeMs[row] === nowMs) row++
    const count = entry - at.entry + row - at.row
    growRows(tiedRows, count)
    const { user, mask } = tiedRows
    let end = 0
    for (; at.entry < entry; at.entry++) {
      user[end] = entries.user[at.entry]!
      mask[end++] = 1
    }
    for (; at.row < row; at.row++) {
      user[end] = rows.user[at.row]!
      mask[end++] = rows.mask[at.row]!
    }
    return { from: 0, to: count }
  }

  return {
    open(userCount) {
      const used = free.pop()
      const cells = userCount * stepCount
      const isUsable = used !== undefined && used.startMs.length >= cells
      const startMs = isUsable ? used.startMs : new Float64Array(cells)
      startMs.fill(-Infinity, 0, cells)
      return { userCount, startMs }
    },

    fold,

    users: (state) => countReached(state, stepCount),
    furthest(state) {
      if (reached.length < state.userCount) reached = new Uint8Array(state.userCount)
      noteReached(state, stepCount, reached)
      return reached.subarray(0, state.userCount)
    },
    release: (state) => void free.push(state),
  }
}

/**
 * Takes one event as every step of its mask that it can be; the last one first, so that it takes a chain one step
 * further, not two.
 */
function takeSteps(
  startMs: Float64Array,
  user: number,
  mask: number,
  timeMs: number,
  stepCount: number,
  windowMs: number,
): void {
  const base = Math.imul(user, stepCount)
  for (let rest = mask; rest !== 0;) {
    const step = 31 - Math.clz32(rest)
    rest ^= 1 << step
    const at = base + step
    if (step === 0) startMs[at] = timeMs
    else {
      const chainStartMs = startMs[at - 1]!
      if (timeMs - chainStartMs <= windowMs) startMs[at] = chainStartMs
    }
  }
}

// Without branches, as all loops over users here: who has reached what cannot be guessed.
function countReached({ userCount, startMs }: ChainState, stepCount: number): number[] {
  const end = userCount * stepCount
  return Array.from({ length: stepCount }, (_, step) => {
    let count = 0
    for (let at = step; at < end; at += stepCount) count += Number(startMs[at]! > -Infinity)
    return count
  })
}

function noteReached(
  { userCount, startMs }: ChainState,
  stepCount: number,
  reached: Uint8Array,
): void {
  for (let user = 0; user < userCount; user++) {
    let count = 0
    const end = (user + 1) * stepCount
    for (let at = user * stepCount; at < end; at++) count += Number(startMs[at]! > -Infinity)
    reached[user] = count
  }
}
