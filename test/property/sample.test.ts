import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  BUCKET_COUNT,
  isSampledText,
  sampledBuckets,
  sampledShare,
} from '../../src/event/bucket.ts'
import { leftOutOfSample } from '../../src/segment/leave-out.ts'
import {
  FOLD_GROUP_USERS,
  ofReadGroup,
  READ_GROUP_COUNTS,
  userNumberAt,
} from '../../src/segment/place.ts'

const share = fc.double({ min: 0, max: 1, minExcluded: true, noNaN: true })
const countOf = (flags: Uint8Array) => flags.reduce((sum, flag) => sum + flag, 0)

describe('the buckets of a sample', () => {
  test('are its share of them, at least one, and all of those of a smaller sample', () => {
    fc.assert(
      fc.property(share, share, (one, other) => {
        const [small, large] = [Math.min(one, other), Math.max(one, other)]
        const [few, many] = [sampledBuckets(small), sampledBuckets(large)]
        expect(few.length).toBe(BUCKET_COUNT)
        expect(countOf(few)).toBe(Math.max(1, Math.round(1_000 * small)))
        expect(sampledShare(small)).toBe(countOf(few) / BUCKET_COUNT)
        expect([...few].every((flag, bucket) => flag <= many[bucket]!)).toBe(true)
        expect(sampledBuckets(small)).toEqual(few)
      }),
    )
    expect(countOf(sampledBuckets(1))).toBe(BUCKET_COUNT)
  })

  // Ids that follow one another, or are round, are of neighbouring and of round buckets.
  test.each([0.05, 0.1, 0.2, 0.5])('of %d are as many of any kind as chance has it', (sample) => {
    const flags = [...sampledBuckets(sample)]
    const kinds = [
      ...Array.from({ length: 10 }, (_, at) => flags.slice(100 * at, 100 * at + 100)),
      ...Array.from({ length: 10 }, (_, rest) => flags.filter((_flag, at) => at % 10 === rest)),
      flags.filter((_, at) => at % 2 === 0),
      flags.filter((_, at) => at % 25 === 0),
      flags.filter((_, at) => at % 50 === 0),
      // Whose neighbour is sampled too.
      flags.filter((_, at) => flags[(at + 1) % BUCKET_COUNT] === 1),
    ]
    for (const kind of kinds) {
      const deviation = Math.sqrt(kind.length * sample * (1 - sample))
      const count = kind.reduce((sum, flag) => sum + flag, 0)
      expect(Math.abs(count - kind.length * sample)).toBeLessThan(3.5 * deviation)
    }
  })
})

describe('the values of a sample', () => {
  test('are those of a larger one too, and all of them of the whole', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), share, share, (text, one, other) => {
        const [small, large] = [Math.min(one, other), Math.max(one, other)]
        expect(Number(isSampledText(text, small))).toBeLessThanOrEqual(
          Number(isSampledText(text, large)),
        )
        expect(isSampledText(text, 1)).toBe(true)
      }),
    )
  })

  test.each([
    ['numbers', String],
    ['round numbers', (index: number) => String(1_000 * index)],
    ['names', (index: number) => `org-${index}`],
    ['ids', (index: number) => `3f2504e0-4f89-41d3-9a0c-${String(index).padStart(12, '0')}`],
  ])('are their share of %s', (_, textOf) => {
    for (const sample of [0.0004, 0.001, 0.0105, 0.1, 0.5]) {
      let count = 0
      for (let index = 0; index < 100_000; index++) count += +isSampledText(textOf(index), sample)
      const deviation = Math.sqrt(100_000 * sample * (1 - sample))
      expect(Math.abs(count - 100_000 * sample)).toBeLessThan(4 * deviation)
    }
  })
})

describe('who is left out of a fold group', () => {
  test('is everybody whose bucket is not sampled', () => {
    const place = fc.constantFrom(...READ_GROUP_COUNTS).chain((readGroupCount) =>
      fc.record({
        readGroupCount: fc.constant(readGroupCount),
        readGroup: fc.nat(readGroupCount - 1),
        foldGroup: fc.nat(40),
      }),
    )
    fc.assert(
      fc.property(place, share, ({ readGroupCount, ...of }, sample) => {
        const flags = sampledBuckets(sample)
        const sampled = ofReadGroup(flags, of.readGroup, readGroupCount)
        const slow = Uint8Array.from({ length: FOLD_GROUP_USERS }, (_, position) => {
          const userNumber = userNumberAt({ ...of, position }, readGroupCount)
          return 1 - flags[userNumber % BUCKET_COUNT]!
        })
        expect(Buffer.compare(leftOutOfSample(of.foldGroup, sampled), slow)).toBe(0)
      }),
      { numRuns: 50 },
    )
  })
})
