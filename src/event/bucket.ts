import { textHash } from './text-hash.ts'

/** How many buckets the users of a project are spread over. Never changes. */
export const BUCKET_COUNT = 1000

const DECIMAL = /^(?:0|[1-9]\d{0,15})$/
const INTEGER_MAX = 2 ** 53
const INTEGER_MAX_TEXT = String(INTEGER_MAX)

/**
 * Returns the bucket of a user, from 0 to 999: `user_id % 1000` for the decimal form of an integer up
 * to 2⁵³ (no sign, no leading zeros), else the 32-bit FNV-1a hash of the id's UTF-8 bytes % 1000.
 * Published and frozen: test/cases/bucket.json holds vectors for other implementations.
 * FNV-1a: Fowler, Noll, Vo; draft-eastlake-fnv.
 */
export function bucketOf(userId: string): number {
  if (DECIMAL.test(userId)) {
    const integer = Number(userId)
    // 2⁵³ + 1 becomes 2⁵³ as a number.
    if (integer < INTEGER_MAX || userId === INTEGER_MAX_TEXT) return integer % BUCKET_COUNT
  }
  return fnv1a32(userId) % BUCKET_COUNT
}

function fnv1a32(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit > 0x7f) return fnv1a32Bytes(Buffer.from(text))
    hash = Math.imul(hash ^ unit, 0x01000193)
  }
  return hash >>> 0
}

function fnv1a32Bytes(bytes: Uint8Array): number {
  let hash = 0x811c9dc5
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash >>> 0
}

/** All buckets, by the hashes of their numbers: a sample takes the first so many. */
const SAMPLED_FIRST = Array.from({ length: BUCKET_COUNT }, (_, bucket) => bucket).sort(
  (a, b) => textHash(String(a)) - textHash(String(b)),
)

/**
 * Returns which buckets the users of a sample are of: 1 at each of them. `sample` is above 0 and at most 1. A larger
 * sample has all buckets of a smaller one.
 */
export function sampledBuckets(sample: number): Uint8Array {
  const flags = new Uint8Array(BUCKET_COUNT)
  for (const bucket of SAMPLED_FIRST.slice(0, sampledCount(sample))) flags[bucket] = 1
  return flags
}

/** Returns the share of all buckets that a sample takes: what to scale counts of users by. At least one bucket's. */
export function sampledShare(sample: number): number {
  return sampledCount(sample) / BUCKET_COUNT
}

/** Whether a value, as text, is of a sample of so large a share of all values. */
export function isSampledText(text: string, sample: number): boolean {
  return sample === 1 || textHash(text) < sample * 2 ** 32
}

function sampledCount(sample: number): number {
  return Math.max(1, Math.round(BUCKET_COUNT * sample))
}
