import type { CodedColumn } from './columns.ts'
import { FOLD_GROUP_USERS } from './place.ts'
import { timeOrder } from './time-order.ts'

/** Where the rows of a section go when values of a property take the place of users. */
export interface ValuePlaces {
  /** The rows that are left, in their new order. */
  readonly order: Uint32Array
  /** By new row, the position of its value within the fold group. */
  readonly position: Uint16Array
  /**
   * Quadruples: read group (0: there is one), fold group, first new row, row after the last; ascending. The rows
   * of one are in time order.
   */
  readonly runs: readonly number[]
}

/**
 * Places rows by the value of a property, whoever their users are. `numberOf` has, by code, the number of the
 * value and 1 more; rows of a code with 0 are left out. A value's number is its position among all fold groups.
 */
export function placeByValue(
  timeMs: Uint32Array,
  codes: CodedColumn['codes'],
  numberOf: Uint32Array,
): ValuePlaces {
  let rowCount = 0
  for (let row = 0; row < codes.length; row++) rowCount += Number(numberOf[codes[row]!] !== 0)
  const source = new Uint32Array(rowCount)
  const times = new Uint32Array(rowCount)
  const groupOf = new Uint32Array(rowCount)
  let groupCount = 0
  for (let row = 0, at = 0; at < rowCount; row++) {
    const number = numberOf[codes[row]!]! - 1
    if (number === -1) continue
    const group = Math.floor(number / FOLD_GROUP_USERS)
    if (group >= groupCount) groupCount = group + 1
    source[at] = row
    times[at] = timeMs[row]!
    groupOf[at++] = group
  }
  const { starts, runs } = startsOf(groupOf, groupCount)
  const order = timeOrder(times, groupOf, starts)
  const position = new Uint16Array(rowCount)
  for (let at = 0; at < rowCount; at++) {
    const row = source[order[at]!]!
    order[at] = row
    position[at] = (numberOf[codes[row]!]! - 1) % FOLD_GROUP_USERS
  }
  return { order, position, runs }
}

function startsOf(groupOf: Uint32Array, groupCount: number) {
  const starts = new Uint32Array(groupCount + 1)
  for (let row = 0; row < groupOf.length; row++) starts[groupOf[row]! + 1]!++
  const runs: number[] = []
  for (let group = 0; group < groupCount; group++) {
    const end = starts[group]! + starts[group + 1]!
    if (end > starts[group]!) runs.push(0, group, starts[group]!, end)
    starts[group + 1] = end
  }
  return { starts, runs }
}
