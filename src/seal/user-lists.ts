import { randomUUID } from 'node:crypto'
import { encodeDocument, USERS, type SegmentRef } from '../segment/directory.ts'
import type { UserListRef } from '../segment/root.ts'
import { encodeUsers, USER_INDEX, USERS_PER_CHUNK, type ListedUser } from '../segment/user-list.ts'
import type { ObjectId, Objects } from '../store/objects.ts'
import { usersOf } from './read-segment.ts'

const FAN_IN = 8
/** Lists are not merged beyond it. */
const USERS_PER_LIST_MAX = 500_000

/** What becomes of the lists when the users of level-0 segments get one. */
export interface ChangedLists {
  readonly userLists: readonly UserListRef[]
  /** The new list, if there are any users for it. */
  readonly made: readonly UserListRef[]
  readonly givenUp: readonly string[]
  readonly write: (objects: Objects, projectId: string) => Promise<void>
}

/**
 * Adds a list of the users that segments have brought; several lists of a level become one of the next. Nothing is
 * read before it is written, and no list is ever whole in memory.
 */
export function changedLists(
  userLists: readonly UserListRef[],
  fresh: readonly SegmentRef[],
): ChangedLists {
  const sources = fresh
    .filter(({ userCount }) => userCount > 0)
    .map(({ segment, userCount }) => ({ object: segment, userCount }))
  if (sources.length === 0)
    return { userLists, made: [], givenUp: [], write: () => Promise.resolve() }
  let level = 1
  let userCount = countOf(sources)
  const inputs: UserListRef[] = []
  for (; ; level++) {
    const same = userLists.filter((list) => list.level === level)
    if (same.length + 1 < FAN_IN || userCount + countOf(same) > USERS_PER_LIST_MAX) break
    inputs.push(...same)
    userCount += countOf(same)
  }
  const ref: UserListRef = { object: randomUUID(), level, userCount }
  return {
    userLists: [...userLists.filter((list) => !inputs.includes(list)), ref],
    made: [ref],
    givenUp: inputs.map(({ object }) => object),
    async write(objects, projectId) {
      const lists = [...sources, ...inputs].map(({ object, userCount: count }) =>
        usersOf(objects, { projectId, object }, count),
      )
      await writeList(objects, { projectId, object: ref.object }, inOrder(lists))
    },
  }
}

function countOf(lists: readonly { readonly userCount: number }[]): number {
  return lists.reduce((sum, { userCount }) => sum + userCount, 0)
}

interface Head {
  readonly list: AsyncIterator<readonly ListedUser[]>
  users: readonly ListedUser[]
}

/**
 * Yields the users of several lists in ascending order of their numbers, some at a time, given that each list is
 * in that order. Each time up to the smallest of the last numbers read, so that one of the lists is read on.
 */
export async function* inOrder(
  lists: readonly AsyncIterable<readonly ListedUser[]>[],
): AsyncGenerator<ListedUser[]> {
  let heads: Head[] = lists.map((list) => ({ list: list[Symbol.asyncIterator](), users: [] }))
  for (;;) {
    for (const head of heads)
      while (head.users.length === 0) {
        const next = await head.list.next()
        if (next.done === true) break
        head.users = next.value
      }
    heads = heads.filter(({ users }) => users.length > 0)
    if (heads.length === 0) return
    const through = Math.min(...heads.map(({ users }) => users.at(-1)!.userNumber))
    const taken: ListedUser[] = []
    for (const head of heads) {
      const after = head.users.findIndex(({ userNumber }) => userNumber > through)
      const end = after === -1 ? head.users.length : after
      taken.push(...head.users.slice(0, end))
      head.users = head.users.slice(end)
    }
    yield taken.sort((a, b) => a.userNumber - b.userNumber)
  }
}

/** Writes users in chunks that are each read by themselves, and the first number of each. */
async function writeList(
  objects: Objects,
  id: ObjectId,
  parts: AsyncIterable<readonly ListedUser[]>,
): Promise<void> {
  const index: number[] = []
  let waiting: ListedUser[] = []
  async function write(isLast: boolean): Promise<void> {
    const least = isLast ? 1 : USERS_PER_CHUNK
    while (waiting.length >= least) {
      const users = waiting.slice(0, USERS_PER_CHUNK)
      waiting = waiting.slice(USERS_PER_CHUNK)
      const chunk = { column: USERS, chunk: index.length, bytes: encodeUsers(users) }
      index.push(users[0]!.userNumber)
      await objects.writeChunks(id, [chunk], 0)
    }
  }
  for await (const part of parts) {
    waiting = waiting.concat(part)
    await write(false)
  }
  await write(true)
  await objects.write(id, [[USER_INDEX, encodeDocument(index)]], 0)
}
