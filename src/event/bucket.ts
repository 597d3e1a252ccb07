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
