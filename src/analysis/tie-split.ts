import assert from 'node:assert'
import type { Rows, Span } from './merge-runs.ts'

/** The rows of one time, by user: each user's follow one another, in no order. Used again. */
export interface TieSplit {
  /** Row numbers, user by user. */
  rows: Int32Array
  /** By user met: the end of the user's part of `rows`. */
  ends: Int32Array
  userCount: number
  /** By user: the last row met, which heads a list; `older` links it. -1 between two calls. */
  newest: Int32Array
  older: Int32Array
}

/** Up to so many rows are compared pair by pair. */
const PAIRS_ROWS_MAX = 16

export function openTieSplit(): TieSplit {
  const column = () => new Int32Array(16)
  return {
    ...{ rows: column(), ends: column(), userCount: 0, newest: new Int32Array(0), older: column() },
  }
}

/** Whether a span is short and each of its rows is of another user: nothing is to be split then. */
export function isOfManyUsers({ user }: Rows, { from, to }: Span): boolean {
  if (to - from > PAIRS_ROWS_MAX) return false
  for (let row = from + 1; row < to; row++)
    for (let other = from; other < row; other++) if (user[other] === user[row]) return false
  return true
}

/** Splits the rows of a span by their users, who are below `userCount`. Linear in the rows. */
export function splitTie(split: TieSplit, { user }: Rows, { from, to }: Span, userCount: number) {
  if (split.newest.length < userCount) split.newest = new Int32Array(userCount).fill(-1)
  if (split.rows.length < to - from) {
    split.rows = new Int32Array(2 * (to - from))
    split.ends = new Int32Array(2 * (to - from))
    split.older = new Int32Array(2 * (to - from))
  }
  const { rows, ends, newest, older } = split
  for (let row = from; row < to; row++) {
    const owner = user[row]!
    assert(owner < userCount)
    older[row - from] = newest[owner]!
    newest[owner] = row
  }
  split.userCount = 0
  let end = 0
  for (let first = from; first < to; first++) {
    const owner = user[first]!
    if (newest[owner] === -1) continue
    for (let row = newest[owner]!; row !== -1; row = older[row - from]!) rows[end++] = row
    newest[owner] = -1
    ends[split.userCount++] = end
  }
}
