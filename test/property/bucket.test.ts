import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BUCKET_COUNT, bucketOf } from '../../src/event/bucket.ts'
import vectors from '../cases/bucket.json' with { type: 'json' }

/** The definition, word for word, with integers that have no end. */
function slowBucketOf(userId: string): number {
  const isCanonical = /^[0-9]+$/.test(userId) && BigInt(userId).toString() === userId
  if (isCanonical && BigInt(userId) <= 2n ** 53n) return Number(BigInt(userId) % 1000n)
  let hash = 2_166_136_261n
  for (const byte of new TextEncoder().encode(userId))
    hash = ((hash ^ BigInt(byte)) * 16_777_619n) % 2n ** 32n
  return Number(hash % 1000n)
}

describe('the published vectors', () => {
  test.each(vectors)('$userId is in bucket $bucket', ({ userId, bucket }) => {
    expect(bucketOf(userId)).toBe(bucket)
    expect(slowBucketOf(userId)).toBe(bucket)
  })

  test('name each user once', () => {
    expect(new Set(vectors.map(({ userId }) => userId)).size).toBe(vectors.length)
  })
})

describe('the bucket of a user', () => {
  const ids = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(...'0123456789') }),
    fc.bigInt({ min: 2n ** 53n - 5n, max: 2n ** 53n + 5n }).map(String),
    fc.uuid(),
  )

  test('is what its definition says', () => {
    fc.assert(
      fc.property(ids, (userId) => {
        expect(bucketOf(userId)).toBe(slowBucketOf(userId))
      }),
      { numRuns: 2_000 },
    )
  })

  test('is the remainder of an integer', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (userId) => {
        expect(bucketOf(String(userId))).toBe(userId % BUCKET_COUNT)
      }),
    )
  })

  test.each([
    ['names', (index: number) => `user-${index}@example.com`],
    ['UUIDs', (index: number) => `3f2504e0-4f89-41d3-9a0c-${String(index).padStart(12, '0')}`],
    ['anonymous ids', (index: number) => `anon:${(index * 7919).toString(36)}`],
  ])('spreads %s evenly', (_, idOf) => {
    const counts = new Array<number>(BUCKET_COUNT).fill(0)
    for (let index = 0; index < 200_000; index++) counts[bucketOf(idOf(index))]!++
    // 200 expected, 14 the standard deviation of a fair draw; six of them either way.
    expect(Math.min(...counts)).toBeGreaterThan(116)
    expect(Math.max(...counts)).toBeLessThan(284)
  })
})
