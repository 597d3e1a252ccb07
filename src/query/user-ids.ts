import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import { decodeDocument, USERS } from '../segment/directory.ts'
import type { Root } from '../segment/root.ts'
import { decodeUsers, USER_INDEX, USERS_PER_CHUNK, type ListedUser } from '../segment/user-list.ts'
import { damaged, type ObjectId, type Objects } from '../store/objects.ts'

/** Of user lists that are kept. */
const CHUNKS_BYTES_MAX = 33_554_432
const INDEXES_MAX = 1_024
const READS_IN_FLIGHT_MAX = 8

interface UserList {
  readonly object: string
  readonly userCount: number
  readonly isFresh: boolean
}

export type UserIds = ReturnType<typeof openUserIds>

/** Turns users' numbers back into their ids, by the lists that a root leads to. */
export function openUserIds({ objects }: { readonly objects: Objects }) {
  const limit = pLimit(READS_IN_FLIGHT_MAX)
  // Objects never change, so what was read of them stays true.
  const chunks = new LRUCache<string, ReadonlyMap<number, string>>({
    maxSize: CHUNKS_BYTES_MAX,
    sizeCalculation: (users) => 100 * (users.size + 1),
  })
  const indexes = new LRUCache<string, readonly number[]>({ max: INDEXES_MAX })

  function usersOf(id: ObjectId, chunk: number, bytes: Buffer): ListedUser[] {
    try {
      return decodeUsers(bytes)
    } catch (error) {
      throw damaged(id, `${USERS} ${chunk}`, error)
    }
  }

  /** Returns the first number of each chunk. A level-0 segment does not tell them. */
  async function readIndex(id: ObjectId, { userCount, isFresh }: UserList): Promise<number[]> {
    if (userCount <= USERS_PER_CHUNK) return [0]
    if (!isFresh) return decodeDocument<number[]>(await objects.readColumn(id, USER_INDEX))
    const firsts: number[] = []
    for await (const page of objects.read(id, [USERS]))
      for (const { chunk, bytes } of page) firsts.push(usersOf(id, chunk, bytes)[0]!.userNumber)
    return firsts
  }

  async function indexOf(id: ObjectId, list: UserList): Promise<readonly number[]> {
    const known = indexes.get(id.object)
    if (known !== undefined) return known
    const index = await readIndex(id, list)
    indexes.set(id.object, index)
    return index
  }

  async function chunkOf(id: ObjectId, chunk: number): Promise<ReadonlyMap<number, string>> {
    const key = `${id.object} ${chunk}`
    const known = chunks.get(key)
    if (known !== undefined) return known
    for await (const [found] of objects.readChunks(id, USERS, { first: chunk, last: chunk })) {
      if (found === undefined) continue
      const users = usersOf(id, chunk, found.bytes)
      const byNumber = new Map(users.map(({ userNumber, userId }) => [userNumber, userId]))
      chunks.set(key, byNumber)
      return byNumber
    }
    throw damaged(id, `${USERS} ${chunk}`)
  }

  /** Looks numbers, ascending or not, up in one list; puts the ids of those that it has into `found`. */
  async function lookUp(
    id: ObjectId,
    list: UserList,
    {
      numbers,
      found,
    }: { readonly numbers: readonly number[]; readonly found: Map<number, string> },
  ): Promise<void> {
    const index = await limit(() => indexOf(id, list))
    const byChunk = new Map<number, number[]>()
    for (const number of numbers) {
      const chunk = index.findLastIndex((first) => first <= number)
      if (chunk >= 0) byChunk.set(chunk, [...(byChunk.get(chunk) ?? []), number])
    }
    await Promise.all(
      [...byChunk].map(async ([chunk, ofChunk]) => {
        const users = await limit(() => chunkOf(id, chunk))
        for (const number of ofChunk) if (users.has(number)) found.set(number, users.get(number)!)
      }),
    )
  }

  /**
   * Returns the ids of users, by number. Reads only chunks that can hold one of them: few, where the numbers are
   * neighbours. Throws DATA_DAMAGED for a number that no list has.
   */
  return async (
    projectId: string,
    { userLists, fresh }: Root,
    numbers: readonly number[],
  ): Promise<ReadonlyMap<number, string>> => {
    const found = new Map<number, string>()
    if (numbers.length === 0) return found
    const lists: UserList[] = [
      ...userLists.map(({ object, userCount }) => ({ object, userCount, isFresh: false })),
      ...fresh.map(({ segment, userCount }) => ({ object: segment, userCount, isFresh: true })),
    ]
    await Promise.all(
      lists
        .filter(({ userCount }) => userCount > 0)
        .map((list) => lookUp({ projectId, object: list.object }, list, { numbers, found })),
    )
    const missing = numbers.find((number) => !found.has(number))
    if (missing !== undefined) throw damaged({ projectId, object: 'root' }, `user ${missing}`)
    return found
  }
}
