import { hash } from 'node:crypto'

/** Two words drawn at random for a project, so that no sender can choose ids that collide. */
export type HashKey = readonly [number, number]

/** A 64-bit hash as two unsigned words, written into and read from a scratch array. */
export type HashWords = Uint32Array

const DECIMAL = /^(?:0|[1-9]\d{0,15})$/
const HASHED = 0x8000_0000

/**
 * Writes into `words` what tells an event from all others of the project: a hash of its id, user and day.
 * The id is 122 bits of SHA-1 already, so that multiplying and shifting (after MurmurHash3's finaliser) is
 * enough to spread them over 64.
 */
export function hashIdentity(
  words: HashWords,
  [keyHigh, keyLow]: HashKey,
  identity: {
    readonly eventId: Buffer
    /** Where the 16 bytes of the id begin. */
    readonly offset: number
    readonly userNumber: number
    readonly day: number
  },
): void {
  const { eventId, offset, userNumber, day } = identity
  let high = keyHigh ^ day
  let low = keyLow ^ userNumber
  for (let at = offset; at < offset + 16; at += 4) {
    const word = eventId.readUInt32LE(at)
    high = Math.imul(high ^ word, 0x9e37_79b1)
    high ^= high >>> 15
    low = Math.imul(low ^ word, 0x85eb_ca77)
    low ^= low >>> 13
  }
  words[0] = finish(high ^ userNumber)
  words[1] = finish(low ^ day)
}

function finish(word: number): number {
  let mixed = Math.imul(word ^ (word >>> 16), 0x85eb_ca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/**
 * Writes into `words` the key of a user id: an integer below 2^53 in decimal stands for itself, any other
 * id for 63 bits of a keyed SHA-1.
 */
export function hashUserId(words: HashWords, [keyHigh, keyLow]: HashKey, userId: string): void {
  if (DECIMAL.test(userId)) {
    const integer = Number(userId)
    if (Number.isSafeInteger(integer)) {
      words[0] = Math.floor(integer / 2 ** 32)
      words[1] = integer >>> 0
      return
    }
  }
  const digest = hash('sha1', `${keyHigh} ${keyLow} ${userId}`, 'buffer')
  words[0] = (digest.readUInt32LE(0) | HASHED) >>> 0
  words[1] = digest.readUInt32LE(4)
}
