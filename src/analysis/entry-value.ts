import type { ChainShape } from './chain.ts'
import { compareTexts } from './condition.ts'
import { keepSteps } from './day-rows.ts'
import { growRows, type Rows, type Span } from './merge-runs.ts'
import { copyCells } from './step-mask.ts'
import { firstSteps, leaders, loadTieSet, lowestStep, openTieSet } from './tie-set.ts'
import { isOfManyUsers, openTieSplit, splitTie } from './tie-split.ts'

type Texts = readonly (string | null)[]

/** The rows of a day, packed as narrow as they go. The columns may be longer than the rows are. */
export interface KeptDay {
  readonly startMs: number
  readonly rowCount: number
  readonly timeMs: Uint32Array
  readonly user: Packed
  readonly mask: Packed
  readonly code: Packed
}

type Packed = Uint8Array | Uint16Array | Uint32Array

export interface EntryCodes {
  /**
   * Copies the rows of a span that still have a bit; what is in the span is lost. `startMs` is when their
   * day begins, and their users are below `userCount`.
   */
  readonly keep: (rows: Rows, span: Span, startMs: number, userCount: number) => KeptDay
  /**
   * Returns, by user, the code of the text at the entry that the user's best chain begins with: of all
   * entries from which a chain reaches the user's furthest step, the earliest; of several at that time, the
   * one whose text is the smallest, a missing one last. 0 where that is missing or the user has no entry.
   *
   * The days are in ascending order and are given back; `furthest` tells each user's count of steps; what
   * is in `rows` is lost. The codes are valid until the next call.
   */
  readonly choose: (days: readonly KeptDay[], furthest: Uint8Array, rows: Rows) => Uint32Array
}

interface Pass {
  readonly last: number
  readonly windowMs: number
  readonly furthest: Uint8Array
  /** By user, then step, the first step left out. Never rises with the step. */
  readonly endMs: Float64Array
  readonly chosen: Uint32Array
}

/**
 * Finds the entries to break down by. It goes back in time and keeps, for each user and step k, the
 * earliest end of a chain from k to the user's furthest step among the events seen. Later ends are not
 * needed: what may precede them may precede the earliest too. So an entry is decided when it is met, and
 * the whole is linear in the rows.
 */
export function openEntryCodes({ stepCount, windowMs }: ChainShape, texts: Texts): EntryCodes {
  const last = stepCount - 1
  const tieSplit = openTieSplit()
  const tieSet = openTieSet(stepCount)
  const free: KeptDay[] = []
  let endMs = new Float64Array(0)
  let chosen = new Uint32Array(0)

  /** Takes the rows of a span, all of one time. */
  function takeTie(pass: Pass, rows: Rows, span: Span, timeMs: number): void {
    if (isOfManyUsers(rows, span)) {
      for (let row = span.from; row < span.to; row++) takeOne(pass, rows, row, timeMs)
      return
    }
    splitTie(tieSplit, rows, span, pass.furthest.length)
    for (let index = 0, from = 0; index < tieSplit.userCount; index++) {
      const to = tieSplit.ends[index]!
      if (to - from === 1) takeOne(pass, rows, tieSplit.rows[from]!, timeMs)
      else takeTied(pass, rows, { from, to }, timeMs)
      from = to
    }
  }

  /** Takes several events of one user and time: `part` of the split. */
  function takeTied(pass: Pass, rows: Rows, part: Span, timeMs: number): void {
    const user = rows.user[tieSplit.rows[part.from]!]!
    const count = pass.furthest[user]!
    if (count === 0) return
    const ends = pass.endMs
    const base = user * last
    loadTieSet(tieSet, rows.mask, tieSplit.rows, part)
    const firstStep = firstSteps(tieSet, count)

    // The first step from which later events can finish in time: up to it, these events must do.
    let needed = 0
    while (needed < count - 1 && ends[base + needed]! - timeMs > windowMs) needed++
    const isEntry = firstStep[needed] === 0

    let reached = -1
    for (let step = 0; step < count; step++) {
      while (reached + 1 < count && firstStep[reached + 1]! <= step) reached++
      if (reached < step || step === 0) continue
      ends[base + step - 1] = reached === count - 1 ? timeMs : ends[base + reached]!
    }
    if (isEntry) pass.chosen[user] = smallestCode(rows, part, leaders(tieSet, needed))
  }

  function smallestCode({ code }: Rows, { from, to }: Span, isLeader: Uint8Array): number {
    let smallest = 0
    for (let index = from; index < to; index++) {
      const candidate = code[tieSplit.rows[index]!]!
      if (isLeader[index - from] === 0 || candidate === 0) continue
      if (smallest === 0 || compareTexts(texts[candidate]!, texts[smallest]!) < 0)
        smallest = candidate
    }
    return smallest
  }

  function foldBack(pass: Pass, rows: Rows, rowCount: number, startMs: number): void {
    const { furthest, endMs, chosen } = pass
    const { timeMs, user, mask, code } = rows
    for (let row = rowCount - 1; row >= 0; row--) {
      const rowMs = timeMs[row]!
      if (row > 0 && timeMs[row - 1] === rowMs) {
        const to = row + 1
        while (row > 0 && timeMs[row - 1] === rowMs) row--
        takeTie(pass, rows, { from: row, to }, startMs + rowMs)
      } else if (mask[row] === 1) {
        // As `takeOne` does; most rows that are kept are entries.
        const owner = user[row]!
        const chainEndMs = furthest[owner] === 1 ? startMs + rowMs : endMs[owner * last]!
        if (chainEndMs - (startMs + rowMs) <= windowMs) chosen[owner] = code[row]!
      } else takeOne(pass, rows, row, startMs + rowMs)
    }
  }

  function choose(days: readonly KeptDay[], furthest: Uint8Array, rows: Rows): Uint32Array {
    const userCount = furthest.length
    if (chosen.length < userCount) {
      chosen = new Uint32Array(userCount)
      endMs = new Float64Array(userCount * last)
    }
    chosen.fill(0, 0, userCount)
    endMs.fill(Infinity, 0, userCount * last)
    const pass = { last, windowMs, furthest, endMs, chosen }
    for (const { startMs, rowCount, timeMs, user, mask, code } of days.toReversed()) {
      growRows(rows, rowCount)
      copyCells(timeMs, 0, rowCount, rows.timeMs, 0)
      copyCells(user, 0, rowCount, rows.user, 0)
      copyCells(mask, 0, rowCount, rows.mask, 0)
      copyCells(code, 0, rowCount, rows.code, 0)
      foldBack(pass, rows, rowCount, startMs)
    }
    free.push(...days)
    return chosen
  }

  return {
    keep(rows, span, startMs, userCount) {
      const { from } = span
      const to = keepSteps(rows, span, -1)
      const rowCount = to - from
      const widths = {
        user: widthOf(userCount),
        mask: widthOf(2 ** stepCount),
        code: widthOf(texts.length),
      }
      const used = free.pop()
      const columns =
        used !== undefined && fits(used, rowCount, widths) ? used : columnsOf(rowCount, widths)
      columns.timeMs.set(rows.timeMs.subarray(from, to))
      columns.user.set(rows.user.subarray(from, to))
      columns.mask.set(rows.mask.subarray(from, to))
      columns.code.set(rows.code.subarray(from, to))
      return { ...columns, startMs, rowCount }
    },
    choose,
  }
}

type Columns = Pick<KeptDay, 'timeMs' | 'user' | 'mask' | 'code'>

/** Bytes of a cell, by column. */
type Widths = Readonly<Record<'user' | 'mask' | 'code', number>>

function fits({ timeMs, user, mask, code }: Columns, rowCount: number, widths: Widths): boolean {
  return (
    timeMs.length >= rowCount &&
    timeMs.length <= 2 * rowCount &&
    user.BYTES_PER_ELEMENT === widths.user &&
    mask.BYTES_PER_ELEMENT === widths.mask &&
    code.BYTES_PER_ELEMENT === widths.code
  )
}

/** Days are much alike: with an eighth to spare, most find their place in those used before. */
function columnsOf(rowCount: number, widths: Widths): Columns {
  const size = rowCount + (rowCount >>> 3)
  return {
    timeMs: new Uint32Array(size),
    user: packed(size, widths.user),
    mask: packed(size, widths.mask),
    code: packed(size, widths.code),
  }
}

function packed(size: number, width: number): Packed {
  if (width === 4) return new Uint32Array(size)
  return width === 2 ? new Uint16Array(size) : new Uint8Array(size)
}

/** Returns how many bytes hold the numbers below `count`. */
function widthOf(count: number): number {
  if (count > 0x1_0000) return 4
  return count > 0x100 ? 2 : 1
}

function takeOne(
  { last, windowMs, furthest, endMs, chosen }: Pass,
  { user, mask, code }: Rows,
  row: number,
  timeMs: number,
): void {
  const owner = user[row]!
  const count = furthest[owner]!
  const base = owner * last
  // The first step first, so that one event takes a chain one step back, not two.
  for (let rest = mask[row]! & below(count); rest !== 0; rest &= rest - 1) {
    const step = lowestStep(rest)
    const chainEndMs = step === count - 1 ? timeMs : endMs[base + step]!
    if (step > 0) endMs[base + step - 1] = chainEndMs
    else if (chainEndMs - timeMs <= windowMs) chosen[owner] = code[row]!
  }
}

/** Returns the mask of the first `count` steps, 0 to 32. */
function below(count: number): number {
  return count === 0 ? 0 : -1 >>> (32 - count)
}
