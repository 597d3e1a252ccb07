import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { buildBloom, mayContain } from '../../src/segment/bloom.ts'
import { openIdSet } from '../../src/segment/id-set.ts'
import { hashIdentity, hashUserId } from '../../src/segment/identity-hash.ts'
import { openUserMap } from '../../src/segment/user-map.ts'

type Identity = Parameters<typeof hashIdentity>[2]

const word = fc.oneof(
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  fc.constantFrom(0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff),
)
const id = fc.tuple(word, word)
// Of equal halves, so that all lie in one slot of an id set.
const colliding = word.map((half) => [half, half] as [number, number])
const ids = fc.array(fc.oneof(id, colliding, fc.tuple(fc.constant(0), word)), { maxLength: 80 })

describe('a Bloom filter', () => {
  test('has every id that it was built of', () => {
    fc.assert(
      fc.property(ids, (members) => {
        const bits = buildBloom(Uint32Array.from(members.flat()))
        for (const [high, low] of members) expect(mayContain(bits, high, low)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test.each([128, 129, 1_000, 10_000])(
    'of %i ids takes fewer than one in 100 others for members, and has each of its own',
    (count) => {
      const members = words(2 * count, 1)
      const bits = buildBloom(members)
      expect(takenCount(bits, members)).toBe(count)
      expect(falsePositives(bits, 10_000, 2)).toBeLessThan(100)
    },
  )

  test.each([1, 2, 3, 5, 10, 50])(
    'of as few as %i ids takes fewer than one in 100 others for members, over many filters',
    (count) => {
      let taken = 0
      for (let filter = 0; filter < 100; filter++) {
        const bits = buildBloom(words(2 * count, 10 + filter))
        taken += falsePositives(bits, 1_000, 10_000 + filter)
      }
      expect(taken).toBeLessThan(1_000)
    },
  )

  test('of no ids has none', () => {
    expect(falsePositives(buildBloom(new Uint32Array(0)), 1_000, 3)).toBe(0)
  })

  test('takes 2 bytes an id', () => {
    expect(buildBloom(words(2_000, 4)).byteLength).toBe(2_000)
  })
})

describe('a set of ids', () => {
  test('is a set', () => {
    fc.assert(
      fc.property(ids, ids, (added, asked) => {
        const [set, slow] = [openIdSet(), new Set<string>()]
        for (const [high, low] of added) {
          expect(set.add(high, low)).toBe(!slow.has(`${high} ${low}`))
          slow.add(`${high} ${low}`)
          expect(set.size()).toBe(slow.size)
        }
        for (const [high, low] of [...added, ...asked])
          expect(set.has(high, low)).toBe(slow.has(`${high} ${low}`))
      }),
      { numRuns: 200 },
    )
  })

  test('is one as it grows, though many ids begin at one slot', () => {
    const set = openIdSet()
    const high = (n: number) => (n % 3 === 0 ? n : n * 65_536)
    const low = (n: number) => (n % 3 === 0 ? n : 0)
    const count = (test: (n: number) => boolean, from: number) =>
      Array.from({ length: 2_000 }, (_, n) => test(from + n)).filter(Boolean).length
    expect(count((n) => set.add(high(n), low(n)), 0)).toBe(2_000)
    expect(count((n) => set.add(high(n), low(n)), 0)).toBe(0)
    expect(count((n) => set.has(high(n), low(n)), 0)).toBe(2_000)
    expect(count((n) => set.has(high(n), low(n)), 2_000)).toBe(0)
    expect(set.size()).toBe(2_000)
  })
})

describe('a map of users', () => {
  const bucket = fc.constantFrom(0, 1, 500, 999)
  const n = fc.integer({ min: 0, max: 4_294_966 })
  const entries = fc.array(fc.tuple(bucket, fc.oneof(id, colliding), n), { maxLength: 150 })

  test('is a map, bucket by bucket', () => {
    fc.assert(
      fc.property(entries, entries, (put, asked) => {
        const [map, slow] = [openUserMap(), new Map<string, number>()]
        for (const [at, [high, low], value] of put) {
          map.set(at, high, low, value)
          const key = `${at} ${high} ${low}`
          slow.set(key, Math.max(slow.get(key) ?? -1, value))
        }
        for (const [at, [high, low]] of [...put, ...asked])
          expect(map.find(at, high, low)).toBe(slow.get(`${at} ${high} ${low}`) ?? -1)
        expect(map.size()).toBe(slow.size)
        for (const at of [0, 1, 2, 500, 999]) {
          const taken = put.flatMap(([bucketPut, , value]) => (bucketPut === at ? [value] : []))
          expect(map.nextOf(at)).toBe(Math.max(-1, ...taken) + 1)
        }
      }),
    )
  })

  test('finds every user of a large bucket, key (0, 0) among them', () => {
    const map = openUserMap()
    for (let user = 0; user < 20_000; user++) map.set(7, user % 2, user >>> 1, user)
    const found = Array.from({ length: 20_000 }, (_, user) => map.find(7, user % 2, user >>> 1))
    expect(found.filter((n, user) => n !== user)).toEqual([])
    expect(map.find(8, 0, 0)).toBe(-1)
    expect(map.find(7, 2, 0)).toBe(-1)
    expect(map.nextOf(7)).toBe(20_000)
  })

  test('finds a user who was put in several times by the newest n, and gives none out again', () => {
    for (const order of [
      [0, 4],
      [4, 0],
    ]) {
      const map = openUserMap()
      for (const n of order) map.set(3, 0, 0, n)
      expect([map.find(3, 0, 0), map.nextOf(3), map.size()]).toEqual([4, 5, 1])
    }
  })
})

describe('the hash of an event', () => {
  const identity: fc.Arbitrary<Identity> = fc.record({
    eventId: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes)),
    offset: fc.constant(0),
    userNumber: word,
    day: fc.integer({ min: -1_000_000, max: 1_000_000 }),
  })
  const hashed = (key: readonly [number, number], of: Identity) => {
    const hash = new Uint32Array(2)
    hashIdentity(hash, key, of)
    return hash.join()
  }

  test('is another one where the key, the id, the user or the day is', () => {
    fc.assert(
      fc.property(id, identity, identity, id, (key, one, other, otherKey) => {
        const hash = hashed(key, one)
        expect(hashed(key, { ...one, eventId: Buffer.from(one.eventId) })).toBe(hash)
        const changes: [boolean, string][] = [
          [key.join() === otherKey.join(), hashed(otherKey, one)],
          [one.eventId.equals(other.eventId), hashed(key, { ...one, eventId: other.eventId })],
          [
            one.userNumber === other.userNumber,
            hashed(key, { ...one, userNumber: other.userNumber }),
          ],
          [one.day === other.day, hashed(key, { ...one, day: other.day })],
        ]
        for (const [isSame, changed] of changes) expect(changed === hash).toBe(isSame)
      }),
      { numRuns: 500 },
    )
  })

  test('is another one for each bit of the id', () => {
    const eventId = Buffer.alloc(16)
    const seen = new Set([hashed([1, 2], { eventId, offset: 0, userNumber: 3, day: 4 })])
    for (let bit = 0; bit < 128; bit++) {
      const changed = Buffer.alloc(16)
      changed[bit >> 3] = 1 << (bit & 7)
      seen.add(hashed([1, 2], { eventId: changed, offset: 0, userNumber: 3, day: 4 }))
    }
    expect(seen.size).toBe(129)
  })

  test('is of the 16 bytes at the offset', () => {
    const bytes = Buffer.from(words(12, 5).buffer)
    const of = { userNumber: 3, day: 4 }
    expect(hashed([1, 2], { ...of, eventId: bytes, offset: 16 })).toBe(
      hashed([1, 2], { ...of, eventId: bytes.subarray(16, 32), offset: 0 }),
    )
  })

  test('is no other of 100,000 random ids', () => {
    const bytes = Buffer.from(words(400_000, 6).buffer)
    expect(
      distinctHashes(100_000, (n) => ({
        ...{ eventId: bytes, offset: 16 * n, userNumber: 1 },
        day: 1,
      })),
    ).toBe(100_000)
  })

  test('is no other of 100,000 users and days of one id', () => {
    const eventId = Buffer.from(words(4, 7).buffer)
    expect(
      distinctHashes(100_000, (n) => ({
        ...{ eventId, offset: 0, userNumber: n % 400, day: 20_000 + Math.floor(n / 400) },
      })),
    ).toBe(100_000)
  })

  function distinctHashes(count: number, identityAt: (n: number) => Identity): number {
    const hash = new Uint32Array(2)
    const seen = new Set<bigint>()
    for (let at = 0; at < count; at++) {
      hashIdentity(hash, [0x1234_5678, 0x9abc_def0], identityAt(at))
      seen.add((BigInt(hash[0]!) << 32n) | BigInt(hash[1]!))
    }
    return seen.size
  }
})

describe('the key of a user id', () => {
  const keyOf = (userId: string, key: readonly [number, number] = [1, 2]) => {
    const hash = new Uint32Array(2)
    hashUserId(hash, key, userId)
    return [hash[0]!, hash[1]!] as const
  }

  test('is the integer itself, below 2^53, under any project key', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), id, (integer, key) => {
        const [high, low] = keyOf(String(integer), key)
        expect(high * 2 ** 32 + low).toBe(integer)
      }),
      { numRuns: 300 },
    )
  })

  test('is never an integer for any other text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (userId) => {
        fc.pre(!/^(0|[1-9]\d*)$/.test(userId))
        expect(keyOf(userId)[0]).toBeGreaterThanOrEqual(2 ** 31)
      }),
    )
  })

  test('is another one for another project', () => {
    fc.assert(
      fc.property(id, id, (one, other) => {
        fc.pre(one.join() !== other.join())
        expect(keyOf('ada', one)).not.toEqual(keyOf('ada', other))
      }),
    )
  })

  test('is no other of 50,000 ids, integers among them', () => {
    const seen = new Set<string>()
    for (let n = 0; n < 25_000; n++) {
      seen.add(keyOf(String(n)).join())
      seen.add(keyOf(`0${n}`).join())
    }
    expect(seen.size).toBe(50_000)
  })
})

/** Ids that look random and are the same in each run: a counter, multiplied and folded. */
function words(count: number, seed: number): Uint32Array {
  let state = Math.imul(seed + 1, 0x9e37_79b9)
  return Uint32Array.from({ length: count }, () => {
    state = (state + 0x6d2b_79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0_aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a_2d97)
    return (mixed ^ (mixed >>> 15)) >>> 0
  })
}

function falsePositives(bits: Uint32Array, count: number, seed: number): number {
  return takenCount(bits, words(2 * count, seed))
}

function takenCount(bits: Uint32Array, asked: Uint32Array): number {
  let taken = 0
  for (let at = 0; at < asked.length; at += 2)
    if (mayContain(bits, asked[at]!, asked[at + 1]!)) taken++
  return taken
}
