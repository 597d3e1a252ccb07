/**
 * Returns the index of the interval that holds a moment; -1 for one outside of them all. `starts` tells when each
 * begins, ascending, and as its last entry when the last one ends.
 */
export function intervalAt(starts: readonly number[], timeMs: number): number {
  let low = 0
  let high = starts.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (starts[middle]! <= timeMs) low = middle + 1
    else high = middle
  }
  return low === starts.length ? -1 : low - 1
}
