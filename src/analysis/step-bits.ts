// Steps are bits of 32-bit integers, which are signed wherever bits are combined: compare them with 0 only.

export const ALL_STEPS = -1

export function bitOf(step: number): number {
  return 1 << step
}

/** Returns the mask of the steps below one, 0 to 32. */
export function below(step: number): number {
  return step === 0 ? 0 : ALL_STEPS >>> (32 - step)
}

/** Returns the lowest step of a mask that is not 0. */
export function lowestStep(mask: number): number {
  return 31 - Math.clz32(mask & -mask)
}

/** Returns the highest step of a mask; -1 for none. */
export function highestStep(mask: number): number {
  return 31 - Math.clz32(mask)
}

/** Returns how many steps a mask has: pairs of bits are added, then fours, then bytes. */
export function stepCountOf(mask: number): number {
  const pairs = mask - ((mask >>> 1) & 0x5555_5555)
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24
}

/** Whether of two masks the first has more steps or, of as many, the earlier ones. */
export function hasMoreSteps(a: number, b: number): boolean {
  const difference = stepCountOf(a) - stepCountOf(b)
  if (difference !== 0) return difference > 0
  const differing = a ^ b
  return differing !== 0 && (a & differing & -differing) !== 0
}
