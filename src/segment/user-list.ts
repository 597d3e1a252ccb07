import { deflateRawSync } from 'node:zlib'
import { bucketOf, BUCKET_COUNT } from '../event/bucket.ts'
import { inflated } from './directory.ts'

/** How many users share a chunk, which is read whole to find one of them. */
export const USERS_PER_CHUNK = 4_096

/** The column of an object that holds, as a document, the first number of each chunk of its users. */
export const USER_INDEX = 'userIndex'

export interface ListedUser {
  readonly userNumber: number
  readonly userId: string
}

/** Writes users in ascending order of their numbers: numbers, lengths in UTF-16 units, then all ids. */
export function encodeUsers(users: readonly ListedUser[]): Buffer {
  const words = new Uint32Array(1 + 2 * users.length)
  words[0] = users.length
  for (const [index, { userNumber, userId }] of users.entries()) {
    words[1 + index] = userNumber
    words[1 + users.length + index] = userId.length
  }
  const text = Buffer.from(users.map(({ userId }) => userId).join(''), 'utf8')
  return deflateRawSync(Buffer.concat([Buffer.from(words.buffer), text]), { level: 1 })
}

/**
 * Finds one user among those that `encodeUsers` wrote, looking only at ids of its bucket: far quicker than
 * reading all. Returns how many users were written, too. Throws an Error for other bytes.
 */
export function findListed(bytes: Uint8Array, userId: string) {
  const all = inflated(bytes)
  const userCount = all.readUInt32LE(0)
  const text = all.subarray(4 + 8 * userCount).toString('utf8')
  const bucket = bucketOf(userId)
  const userNumbers: number[] = []
  let from = 0
  for (let index = 0; index < userCount; index++) {
    const userNumber = all.readUInt32LE(4 * (1 + index))
    const length = all.readUInt32LE(4 * (1 + userCount + index))
    const mayBe = userNumber % BUCKET_COUNT === bucket && length === userId.length
    if (mayBe && text.startsWith(userId, from)) userNumbers.push(userNumber)
    from += length
  }
  return { userCount, userNumbers }
}

/** Reads what `encodeUsers` wrote. Throws an Error for other bytes. */
export function decodeUsers(bytes: Uint8Array): ListedUser[] {
  const all = inflated(bytes)
  const count = all.readUInt32LE(0)
  const text = all.subarray(4 + 8 * count).toString('utf8')
  let from = 0
  return Array.from({ length: count }, (_, index) => {
    const length = all.readUInt32LE(4 * (1 + count + index))
    from += length
    return {
      userNumber: all.readUInt32LE(4 * (1 + index)),
      userId: text.slice(from - length, from),
    }
  })
}
