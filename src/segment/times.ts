const LOW_BITS = 16
/** Of a day's 86,400,000 ms: the upper part is from 0 to 1,318. */
const HIGH_COUNT = 1_319
const WORD_BITS = 32

/** The times of a section, run by run, in about 18 bits each. */
export interface SplitTimes {
  /** The lower 16 bits of each row. */
  readonly low: Uint16Array
  /** By run, from a word of its own: the bit `upper part + row within the run` is set for each row. */
  readonly high: Uint32Array
}

/**
 * Splits ascending times of runs, given the rows of each: the lower bits as they are, the upper ones in
 * unary (Elias 1974, Fano 1971). Returns null where that would take more than 32 bits a row, the runs being
 * short.
 */
export function splitTimes(timeMs: Uint32Array, runRows: readonly number[]): SplitTimes | null {
  const highWords = highWordsOf(runRows)
  if (4 * highWords >= 2 * timeMs.length) return null
  const low = new Uint16Array(timeMs.length)
  const high = new Uint32Array(highWords)
  let row = 0
  let word = 0
  for (const count of runRows) {
    for (let inRun = 0; inRun < count; inRun++, row++) {
      const ms = timeMs[row]!
      low[row] = ms & 0xffff
      const bit = (ms >>> LOW_BITS) + inRun
      high[word + (bit >>> 5)]! |= 1 << (bit & 31)
    }
    word += wordsOfRun(count)
  }
  return { low, high }
}

/**
 * Puts the times of consecutive runs together again, into `timeMs`. Throws an Error where the bits are not
 * those of so many rows.
 */
export function joinTimes(
  { low, high }: SplitTimes,
  runRows: readonly number[],
  timeMs: Uint32Array,
): void {
  if (high.length !== highWordsOf(runRows)) throw new Error('times: words and runs differ')
  let start = 0
  let firstWord = 0
  for (const count of runRows) {
    const wordCount = wordsOfRun(count)
    let row = 0
    for (let index = 0; index < wordCount; index++) {
      let word = high[firstWord + index]!
      // The bits before the row's own that are not set are its upper part.
      const base = index * WORD_BITS - row
      let inWord = 0
      while (word !== 0) {
        const bit = 31 - Math.clz32(word & -word)
        timeMs[start + row] = ((base + bit - inWord) << LOW_BITS) | low[start + row]!
        word &= word - 1
        row++
        inWord++
      }
    }
    if (row !== count) throw new Error('times: bits and rows differ')
    start += count
    firstWord += wordCount
  }
}

/** Returns how many words the upper parts of runs take. */
export function highWordsOf(runRows: readonly number[]): number {
  return runRows.reduce((sum, count) => sum + wordsOfRun(count), 0)
}

function wordsOfRun(count: number): number {
  return Math.ceil((count + HIGH_COUNT) / WORD_BITS)
}
