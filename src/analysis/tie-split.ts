import assert from 'node:assert'

/**
 * Visits the rows of one run of equal times user by user: each user once, with its rows that satisfy any
 * step, in no order. `rows` holds them up to `rowCount` and is used again after the visit.
 */
export type TieSplit = (
  run: {
    readonly user: Uint16Array | Uint32Array
    readonly masks: Uint32Array
    readonly from: number
    readonly to: number
  },
  visit: (user: number, rows: Int32Array, rowCount: number) => void,
) => void

/** Prepares the splitting of runs among `userCount` users; linear in the length of a run. */
export function openTieSplit(userCount: number): TieSplit {
  // A list per user, from its last row to its first: `newest` heads it, `older` links it.
  const newest = new Int32Array(userCount).fill(-1)
  let older = new Int32Array(16)
  let users = new Int32Array(16)
  let rows = new Int32Array(16)

  return ({ user, masks, from, to }, visit) => {
    if (older.length < to - from) {
      const size = 2 * (to - from)
      older = new Int32Array(size)
      users = new Int32Array(size)
      rows = new Int32Array(size)
    }
    let tiedUserCount = 0
    for (let row = from; row < to; row++) {
      if (masks[row] === 0) continue
      const owner = user[row]!
      assert(owner < userCount)
      if (newest[owner] === -1) users[tiedUserCount++] = owner
      older[row - from] = newest[owner]!
      newest[owner] = row
    }
    for (let index = 0; index < tiedUserCount; index++) {
      const owner = users[index]!
      let rowCount = 0
      for (let row = newest[owner]!; row !== -1; row = older[row - from]!) rows[rowCount++] = row
      newest[owner] = -1
      visit(owner, rows, rowCount)
    }
  }
}
