import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bucketOf } from '../../src/event/bucket.ts'
import type { Run } from '../../src/segment/columns.ts'
import { decodeDocument, encodeDocument } from '../../src/segment/directory.ts'
import { openErasedSet, withErasure, type Erasure } from '../../src/segment/erased-set.ts'
import { hashUserId, type HashKey } from '../../src/segment/identity-hash.ts'
import { leaveOut } from '../../src/segment/leave-out.ts'
import { decodeUsers, encodeUsers, findListed } from '../../src/segment/user-list.ts'

const KEY: HashKey = [0x1234_5678, 0x9abc_def0]
const userId = fc.oneof(
  fc.nat(30).map(String),
  fc.constantFrom('ada', 'anon:x', '007', 'é', '😀', '1001', '2001', '9007199254740993', '\0'),
)

function erasureOf(asked: Pick<Erasure, 'userId' | 'erasedAtMs' | 'userNumbers'>): Erasure {
  const words = new Uint32Array(2)
  hashUserId(words, KEY, asked.userId)
  const key = { bucket: bucketOf(asked.userId), high: words[0]!, low: words[1]! }
  return { ...key, ...asked, askedBy: 'admin' }
}

const asked = fc.record({
  userId,
  erasedAtMs: fc.nat(100),
  userNumbers: fc.uniqueArray(fc.nat(5), { maxLength: 3 }),
})

describe('a set of erased users', () => {
  test('says of each user until when it is erased, and which numbers are void', () => {
    fc.assert(
      fc.property(fc.array(asked, { maxLength: 40 }), fc.array(userId), (all, others) => {
        const erasures = all.reduce<Erasure[]>((set, one) => withErasure(set, erasureOf(one)), [])
        const set = openErasedSet(decodeDocument(encodeDocument(erasures)), KEY)
        for (const id of [...all.map((one) => one.userId), ...others]) {
          const own = all.filter((one) => one.userId === id)
          const latestMs = Math.max(-Infinity, ...own.map(({ erasedAtMs }) => erasedAtMs))
          expect(set.erasedAtMs(id)).toBe(latestMs)
          const { bucket, high, low } = erasureOf({ userId: id, erasedAtMs: 0, userNumbers: [] })
          const found = set.find(bucket, high, low)
          expect(found?.userId).toBe(own.length === 0 ? undefined : id)
          expect(new Set(found?.userNumbers)).toEqual(
            new Set(own.flatMap(({ userNumbers }) => userNumbers)),
          )
          expect(set.hasBucket(bucket)).toBe(all.some((one) => bucketOf(one.userId) === bucket))
        }
        expect(set.erasures.length).toBe(new Set(all.map((one) => one.userId)).size)
        expect(new Set(set.userNumbers)).toEqual(
          new Set(all.flatMap(({ userNumbers }) => userNumbers)),
        )
      }),
    )
  })
})

describe('a run without some users', () => {
  const row = fc.record({ user: fc.nat(9), timeMs: fc.nat(99), code: fc.nat(2) })
  const runOf = (rows: readonly { user: number; timeMs: number; code: number }[]): Run => ({
    ...{ eventName: 'e', rowCount: rows.length },
    timeMs: Uint32Array.from(rows, ({ timeMs }) => timeMs),
    user: Uint16Array.from(rows, ({ user }) => user),
    properties: new Map([
      ['p', { codes: Uint8Array.from(rows, ({ code }) => code), values: [null, 'a', 'b'] }],
    ]),
  })

  test('has the rows of the others, in their order', () => {
    fc.assert(
      fc.property(fc.array(row), fc.uniqueArray(fc.nat(9)), (rows, gone) => {
        const leftOut = new Uint8Array(10)
        for (const user of gone) leftOut[user] = 1
        const kept = rows.filter(({ user }) => !gone.includes(user))
        expect(leaveOut(runOf(rows), leftOut)).toEqual(runOf(kept))
      }),
    )
  })

  test('is the same run where none of them is in it', () => {
    const run = runOf([{ user: 1, timeMs: 2, code: 0 }])
    expect(leaveOut(run, new Uint8Array(10))).toBe(run)
  })
})

test('one user is found among those of a list', () => {
  const listed = fc.array(fc.record({ n: fc.nat(4), userId }), { maxLength: 60 })
  fc.assert(
    fc.property(listed, userId, (users, wanted) => {
      const bytes = encodeUsers(
        users.map((user) => ({
          userNumber: user.n * 1_000 + bucketOf(user.userId),
          userId: user.userId,
        })),
      )
      const slow = decodeUsers(bytes).filter((user) => user.userId === wanted)
      expect(findListed(bytes, wanted)).toEqual({
        userCount: users.length,
        userNumbers: slow.map(({ userNumber }) => userNumber),
      })
    }),
  )
})
