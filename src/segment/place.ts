import { BUCKET_COUNT } from '../event/bucket.ts'

/** How many positions of a read group make a fold group: a user within it is 16 bits. */
export const FOLD_GROUP_USERS = 65_536
/** How many read groups a project may have: each divides the thousand buckets. */
export const READ_GROUP_COUNTS = [1, 5, 25, 125] as const
const USERS_PER_READ_GROUP = 2_000_000
/** A user number is a uint32, `n * 1000 + bucket`: so many users fit in one bucket. */
export const USERS_PER_BUCKET_MAX = Math.floor(2 ** 32 / BUCKET_COUNT) - 1

/**
 * Where the events of a user lie when the buckets are split into `readGroupCount` ranges of equal width:
 * position = `n * width + bucket - first`, of which the upper part is the fold group.
 */
export interface Place {
  readonly readGroup: number
  readonly foldGroup: number
  /** Within the fold group. */
  readonly position: number
}

export function placeOf(userNumber: number, readGroupCount: number): Place {
  const width = BUCKET_COUNT / readGroupCount
  const bucket = userNumber % BUCKET_COUNT
  const readGroup = Math.floor(bucket / width)
  const position = Math.floor(userNumber / BUCKET_COUNT) * width + (bucket - readGroup * width)
  return {
    readGroup,
    foldGroup: Math.floor(position / FOLD_GROUP_USERS),
    position: position % FOLD_GROUP_USERS,
  }
}

/** The inverse of `placeOf`. */
export function userNumberAt(
  { readGroup, foldGroup, position }: Place,
  readGroupCount: number,
): number {
  const width = BUCKET_COUNT / readGroupCount
  const whole = foldGroup * FOLD_GROUP_USERS + position
  return Math.floor(whole / width) * BUCKET_COUNT + readGroup * width + (whole % width)
}

/** Returns what an array with one entry a bucket has of one read group. */
export function ofReadGroup(
  byBucket: Uint8Array,
  readGroup: number,
  readGroupCount: number,
): Uint8Array {
  const width = BUCKET_COUNT / readGroupCount
  return byBucket.slice(readGroup * width, (readGroup + 1) * width)
}

/** Returns how many read groups a project of so many users is to have. */
export function readGroupCountFor(userCount: number): number {
  const enough = READ_GROUP_COUNTS.find((count) => userCount <= count * USERS_PER_READ_GROUP)
  return enough ?? READ_GROUP_COUNTS.at(-1)!
}
