import { bucketOf } from '../event/bucket.ts'
import { groupBy } from '../group-by.ts'
import { hashUserId, type HashKey } from './identity-hash.ts'

/** The column of an object that holds, as a document, the erasures of a project. */
export const ERASURES = 'erasures'

/** A user who is erased: whatever was received of it up to a moment is in no answer. */
export interface Erasure {
  readonly bucket: number
  /** The two words of the id's key (identity-hash.ts). */
  readonly high: number
  readonly low: number
  /** By our clock, that moment included. Milliseconds since 1970. */
  readonly erasedAtMs: number
  /** The numbers that the user had by then: nothing of them counts, and they are never used again. */
  readonly userNumbers: readonly number[]
  /** For whoever removes what is stored of the user: nothing else leads to its rows. */
  readonly userId: string
  /** Who asked for it: the id of a key, or `admin`. */
  readonly askedBy: string
}

export type ErasedSet = ReturnType<typeof openErasedSet>

/** The erased users of a project, to be looked up. */
export function openErasedSet(erasures: readonly Erasure[], hashKey: HashKey) {
  const byBucket = groupBy(erasures, ({ bucket }) => bucket)
  const words = new Uint32Array(2)

  /** Finds a user by the key of its id; undefined where it is not erased. */
  function find(bucket: number, high: number, low: number): Erasure | undefined {
    return byBucket.get(bucket)?.find((one) => one.high === high && one.low === low)
  }

  return {
    erasures,
    find,

    /** Every number that nothing counts of. */
    userNumbers: erasures.flatMap(({ userNumbers }) => userNumbers),

    /** Whether any user of a bucket is erased. */
    hasBucket: (bucket: number) => byBucket.has(bucket),

    /** Returns up to when a user is erased; -Infinity for one that is not. */
    erasedAtMs(userId: string): number {
      const bucket = bucketOf(userId)
      if (!byBucket.has(bucket)) return -Infinity
      hashUserId(words, hashKey, userId)
      return find(bucket, words[0]!, words[1]!)?.erasedAtMs ?? -Infinity
    },
  }
}

/** Of a project where nobody is erased. */
export const NOBODY_ERASED: ErasedSet = openErasedSet([], [0, 0])

/** Adds an erasure. Of the same user there is one: with all its numbers, and the later moment. */
export function withErasure(erasures: readonly Erasure[], added: Erasure): Erasure[] {
  const isSame = ({ bucket, high, low }: Erasure) =>
    bucket === added.bucket && high === added.high && low === added.low
  const earlier = erasures.find(isSame)
  const merged = {
    ...added,
    erasedAtMs: Math.max(added.erasedAtMs, earlier?.erasedAtMs ?? -Infinity),
    userNumbers: [...new Set([...(earlier?.userNumbers ?? []), ...added.userNumbers])],
  }
  return [...erasures.filter((one) => !isSame(one)), merged]
}
