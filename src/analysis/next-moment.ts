/** So few moments are looked at one after the other: most units have no more. */
const SCANNED_MAX = 16

/**
 * Finds the next moment that has any bit of a mask, by a tree of what its parts have together: filled in linear time,
 * asked in logarithmic time. Filled anew for the next unit.
 */
export function openNextMoment() {
  /** The children of node i are 2i and 2i + 1; leaves begin at `size`. */
  let tree = new Uint32Array(2)
  let scanned: Uint32Array | null = null
  let size = 1
  let count = 0

  return {
    fill(masks: Uint32Array, momentCount: number): void {
      count = momentCount
      scanned = count <= SCANNED_MAX ? masks : null
      if (scanned !== null) return
      for (size = 1; size < count;) size *= 2
      if (tree.length < 2 * size) tree = new Uint32Array(2 * size)
      tree.fill(0, size + count, 2 * size)
      tree.set(masks.subarray(0, count), size)
      for (let node = size - 1; node >= 1; node--)
        tree[node] = tree[2 * node]! | tree[2 * node + 1]!
    },

    /** Returns the first moment, from one on, that has a bit of `bits`; the number of moments where there is none. */
    from(moment: number, bits: number): number {
      if (scanned !== null) {
        for (let at = moment; at < count; at++) if ((scanned[at]! & bits) !== 0) return at
        return count
      }
      if (moment >= count) return count
      let node = size + moment
      while ((tree[node]! & bits) === 0) {
        while ((node & 1) === 1) node >>>= 1
        if (node === 0) return count
        node++
      }
      while (node < size) {
        node *= 2
        if ((tree[node]! & bits) === 0) node++
      }
      return node - size
    },
  }
}

export type NextMoment = ReturnType<typeof openNextMoment>
