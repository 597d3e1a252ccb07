export type Random = ReturnType<typeof openRandom>

/** Values and how often each is drawn, beside the others. */
export type Weighted<T> = readonly (readonly [value: T, weight: number])[]

/**
 * Draws the same numbers for the same seed. The generator is sfc32, of PractRand by Chris
 * Doty-Humphrey; its state is seeded by FNV-1a.
 */
export function openRandom(seed: string) {
  let [a, b, c, counter] = [hash(`${seed} a`), hash(`${seed} b`), hash(`${seed} c`), 1]

  function next(): number {
    const drawn = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + drawn) | 0
    return (drawn >>> 0) / 2 ** 32
  }

  // The first numbers are still like the seed.
  for (let round = 0; round < 12; round++) next()

  return {
    /** From 0, below 1. */
    next,

    chance: (probability: number) => next() < probability,

    /** A whole number, both ends included. */
    integer: (least: number, most: number) => least + Math.floor(next() * (most - least + 1)),

    /** Above 0, and `mean` on average: gaps between things that happen by themselves. */
    gap: (mean: number) => -Math.log(1 - next()) * mean,

    pick<T>(values: Weighted<T>): T {
      let left = next() * values.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [value, weight] of values) {
        left -= weight
        if (left < 0) return value
      }
      return values.at(-1)![0]
    },
  }
}

function hash(text: string): number {
  let word = 0x811c9dc5
  for (let index = 0; index < text.length; index++)
    word = Math.imul(word ^ text.charCodeAt(index), 0x01000193)
  return word | 0
}
