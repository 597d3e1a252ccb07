import { LRUCache } from 'lru-cache'
import { hashUserId, type HashKey } from '../segment/identity-hash.ts'
import { bucketOf, BUCKET_COUNT } from '../event/bucket.ts'
import { monthOfDay } from '../event/day.ts'
import { groupBy } from '../group-by.ts'
import { openIdSet, type IdSet } from '../segment/id-set.ts'
import type { Section, SegmentRef } from '../segment/directory.ts'
import type { Root } from '../segment/root.ts'
import { BLOOM, IDS, wordsOf } from '../segment/section.ts'
import type { ListedUser } from '../segment/user-list.ts'
import { openUserMap, type UserMap } from '../segment/user-map.ts'
import type { Objects } from '../store/objects.ts'
import type { Snapshots } from '../store/snapshots.ts'
import { isExpired, readSectionColumn, usersOf } from './read-segment.ts'

const FILTER_BYTES_MAX = 67_108_864
const RUN_BYTES_MAX = 67_108_864
const ID_SET_BYTES_PER_ID = 24

const PAGES_INDEXED_MAX = 32

/** A section of a merged segment. */
export interface MergedSection {
  readonly ref: SegmentRef
  readonly section: Section
}

export type ProjectMemory = ReturnType<typeof openProjectMemory>

/**
 * What a sealer keeps of one project beside its root, so that a new event costs memory look-ups only: the
 * number of each user (18 bytes a user), the ids in level 0, and the filters and ids that were asked for of
 * merged segments. All of it can be read again from the objects that the root leads to.
 */
export function openProjectMemory(
  projectId: string,
  {
    objects,
    snapshots,
    nowMs,
  }: {
    readonly objects: Objects
    readonly snapshots: Snapshots
    readonly nowMs: () => number
  },
) {
  const users: UserMap = openUserMap()
  const usersReadFrom = new Set<string>()
  let freshIds: IdSet = openIdSet()
  let freshReadFrom = new Set<string>()
  const filters = new LRUCache<string, Uint32Array>({
    maxSize: FILTER_BYTES_MAX,
    sizeCalculation: ({ byteLength }) => byteLength + 1,
  })
  const runs = new LRUCache<string, IdSet>({
    maxSize: RUN_BYTES_MAX,
    sizeCalculation: (set) => set.size() * ID_SET_BYTES_PER_ID + 1,
  })
  const indexes = new LRUCache<string, Map<string, MergedSection[]>>({ max: PAGES_INDEXED_MAX })
  const words = new Uint32Array(2)

  async function indexOfPage(pageId: string): Promise<Map<string, MergedSection[]>> {
    const known = indexes.get(pageId)
    if (known !== undefined) return known
    const merged: MergedSection[] = []
    for (const ref of await snapshots.page(projectId, pageId)) {
      if (isExpired(ref, nowMs())) continue
      for (const section of await snapshots.sections(projectId, ref)) merged.push({ ref, section })
    }
    const index = groupBy(merged, ({ section: { day, eventName } }) => `${day} ${eventName}`)
    indexes.set(pageId, index)
    return index
  }

  async function readUsers(hashKey: HashKey, object: string, userCount: number): Promise<void> {
    for await (const listed of usersOf(objects, { projectId, object }, userCount))
      addUsers(hashKey, listed)
    usersReadFrom.add(object)
  }

  function addUsers(hashKey: HashKey, listed: readonly ListedUser[]): void {
    for (const { userNumber, userId } of listed) {
      hashUserId(words, hashKey, userId)
      const n = Math.floor(userNumber / BUCKET_COUNT)
      users.set(userNumber % BUCKET_COUNT, words[0]!, words[1]!, n)
    }
  }

  async function readFreshIds(ref: SegmentRef): Promise<void> {
    for (const section of await snapshots.sections(projectId, ref))
      addIds(freshIds, wordsOf(await readSectionColumn(objects, projectId, ref, section, IDS)))
    freshReadFrom.add(ref.segment)
  }

  return {
    users,

    hasFreshId: (high: number, low: number) => freshIds.has(high, low),

    /** Reads what a root leads to and is not known yet. */
    async follow(root: Root): Promise<void> {
      for (const { object, userCount } of root.userLists)
        if (!usersReadFrom.has(object)) await readUsers(root.hashKey, object, userCount)
      for (const { segment, userCount } of root.fresh)
        if (userCount > 0 && !usersReadFrom.has(segment))
          await readUsers(root.hashKey, segment, userCount)
      // What left level 0 is found by the filters of merged segments.
      const fresh = new Set(root.fresh.map(({ segment }) => segment))
      if ([...freshReadFrom].some((segment) => !fresh.has(segment))) {
        freshIds = openIdSet()
        freshReadFrom = new Set()
      }
      for (const ref of root.fresh)
        if (!freshReadFrom.has(ref.segment) && !isExpired(ref, nowMs())) await readFreshIds(ref)
    },

    /** Takes over what a published pass added, instead of reading it back. */
    adopt(added: {
      readonly segment: string
      readonly users: readonly ListedUser[]
      /** Two words a user: its key. */
      readonly keys: Uint32Array
      readonly ids: readonly Uint32Array[]
    }): void {
      for (const [index, { userNumber }] of added.users.entries()) {
        const [high, low] = [added.keys[2 * index]!, added.keys[2 * index + 1]!]
        users.set(userNumber % BUCKET_COUNT, high, low, Math.floor(userNumber / BUCKET_COUNT))
      }
      usersReadFrom.add(added.segment)
      for (const ids of added.ids) addIds(freshIds, ids)
      freshReadFrom.add(added.segment)
    },

    /** Takes over that a list was made of users that are known already. */
    adoptUserList: (object: string) => void usersReadFrom.add(object),

    /** The merged sections of one name and day. */
    async mergedSections(
      { pages }: Root,
      { eventName, day }: { readonly eventName: string; readonly day: number },
    ): Promise<readonly MergedSection[]> {
      const pageId = pages[monthOfDay(day)]
      if (pageId === undefined) return []
      const found = (await indexOfPage(pageId)).get(`${day} ${eventName}`) ?? []
      return found.filter(({ ref }) => !isExpired(ref, nowMs()))
    },

    /** The filter of a section's ids; null where it has none, its rows being few. */
    async filter(ref: SegmentRef, section: Section): Promise<Uint32Array | null> {
      if (section.columns[BLOOM] === undefined) return null
      const key = `${ref.segment} ${section.day} ${section.eventName}`
      const known = filters.get(key)
      if (known !== undefined) return known
      const filter = wordsOf(await readSectionColumn(objects, projectId, ref, section, BLOOM))
      filters.set(key, filter)
      return filter
    },

    /** The ids of a run of a section, given by the range of its rows. */
    async idsOfRun(
      ref: SegmentRef,
      section: Section,
      { from, to }: { readonly from: number; readonly to: number },
    ): Promise<IdSet> {
      const key = `${ref.segment} ${section.day} ${from} ${section.eventName}`
      const known = runs.get(key)
      if (known !== undefined) return known
      const range = { offset: 8 * from, bytes: 8 * (to - from) }
      const ids = openIdSet()
      addIds(ids, wordsOf(await readSectionColumn(objects, projectId, ref, section, IDS, range)))
      runs.set(key, ids)
      return ids
    },
  }
}

/** Finds a user's key and bucket; writes the key into `words`. Returns the bucket. */
export function userKeyOf(words: Uint32Array, hashKey: HashKey, userId: string): number {
  hashUserId(words, hashKey, userId)
  return bucketOf(userId)
}

function addIds(set: IdSet, ids: Uint32Array): void {
  for (let at = 0; at < ids.length; at += 2) set.add(ids[at]!, ids[at + 1]!)
}
