import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { changedLists } from '../../src/seal/user-lists.ts'
import { usersOf } from '../../src/seal/read-segment.ts'
import { decodeDocument, type SegmentRef } from '../../src/segment/directory.ts'
import type { UserListRef } from '../../src/segment/root.ts'
import { USER_INDEX, type ListedUser } from '../../src/segment/user-list.ts'
import { userChunks } from '../../src/seal/write-segment.ts'
import { openTestKeyspace } from '../support/keyspace.ts'

const { stores } = await openTestKeyspace()
const { objects } = stores
const projectId = 'lists'

/** A level-0 segment that brings every n-th user. */
async function freshSegment(users: readonly ListedUser[]): Promise<SegmentRef> {
  const segment = randomUUID()
  await objects.writeChunks({ projectId, object: segment }, userChunks(users), 0)
  return {
    ...{ segment, level: 0, readGroupCount: 1, firstDay: 0, lastDay: 0, expiresDay: 1 },
    ...{ rowCount: 1, packBytes: 0, userCount: users.length, section: null },
  }
}

test('users are listed once, in order, with the first number of each chunk, however often lists are merged', async () => {
  const all = Array.from({ length: 30_000 }, (_, n) => ({ userNumber: 3 * n, userId: `u${n}` }))
  let userLists: readonly UserListRef[] = []
  for (let round = 0; round < 10; round++) {
    const brought = [0, 1].map((half) => all.filter((_, n) => n % 20 === 2 * round + half))
    const fresh = await Promise.all(brought.map(freshSegment))
    const lists = changedLists(userLists, fresh)
    await lists.write(objects, projectId)
    for (const object of lists.givenUp) await objects.delete({ projectId, object })
    userLists = lists.userLists
  }
  expect(userLists.map(({ level, userCount }) => [level, userCount])).toEqual([
    [2, 24_000],
    [1, 3_000],
    [1, 3_000],
  ])
  const listed: ListedUser[] = []
  for (const { object, userCount } of userLists) {
    const own: ListedUser[] = []
    for await (const users of usersOf(objects, { projectId, object }, userCount)) own.push(...users)
    const numbers = own.map(({ userNumber }) => userNumber)
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
    const index = await objects.readColumn({ projectId, object }, USER_INDEX)
    expect(decodeDocument(index)).toEqual(numbers.filter((_, at) => at % 4_096 === 0))
    listed.push(...own)
  }
  expect(listed.sort((a, b) => a.userNumber - b.userNumber)).toEqual(all)
})

test('segments that bring nobody change nothing', async () => {
  const fresh = await freshSegment([])
  const lists = changedLists([], [fresh])
  expect([lists.userLists, lists.made, lists.givenUp]).toEqual([[], [], []])
})
