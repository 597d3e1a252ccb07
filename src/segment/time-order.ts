import assert from 'node:assert'

// Time and row make one number of 53 bits, so that the engine's own numeric sort can be used.
const ROWS_MAX = 2 ** 26

/**
 * Returns the order of rows by group, then time, then row: the rows in that order. `starts` says, by group, where
 * its rows begin, and at last where all end. O(n log n) in the rows of a group.
 */
export function timeOrder(
  timeMs: Uint32Array,
  groupOf: Uint32Array,
  starts: Uint32Array,
): Uint32Array {
  const rowCount = timeMs.length
  assert(rowCount <= ROWS_MAX)
  const keys = new Float64Array(rowCount)
  const next = starts.slice()
  for (let row = 0; row < rowCount; row++)
    keys[next[groupOf[row]!]!++] = timeMs[row]! * ROWS_MAX + row
  for (let group = 0; group < starts.length - 1; group++)
    if (starts[group + 1]! - starts[group]! > 1)
      keys.subarray(starts[group], starts[group + 1]).sort()
  const order = new Uint32Array(rowCount)
  for (let row = 0; row < rowCount; row++) order[row] = keys[row]! % ROWS_MAX
  return order
}
