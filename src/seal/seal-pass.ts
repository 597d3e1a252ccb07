import { DAY_MS, dayOf } from '../event/day.ts'
import { BUCKET_COUNT } from '../event/bucket.ts'
import type { BlockColumns } from '../segment/block.ts'
import { mayContain } from '../segment/bloom.ts'
import type { ErasedSet } from '../segment/erased-set.ts'
import type { Section } from '../segment/directory.ts'
import { openIdSet } from '../segment/id-set.ts'
import { hashIdentity, type HashKey } from '../segment/identity-hash.ts'
import { placeOf, USERS_PER_BUCKET_MAX } from '../segment/place.ts'
import type { Root } from '../segment/root.ts'
import { openSectionBuilder } from '../segment/section-builder.ts'
import type { SectionRows } from '../segment/section.ts'
import type { ListedUser } from '../segment/user-list.ts'
import { openUserMap } from '../segment/user-map.ts'
import { userKeyOf, type MergedSection, type ProjectMemory } from './project-memory.ts'

/** What one pass adds to a project: every event once, that was not published before. */
export interface SealedRows {
  readonly sections: readonly SectionRows[]
  /** First seen in these events; ascending by number. */
  readonly users: readonly ListedUser[]
  /** Their keys, two words each. */
  readonly keys: Uint32Array
}

/** Events of one name and day, by column; whether they were published before is to be found out. */
interface EventsOfDay {
  readonly eventName: string
  readonly day: number
  readonly userNumbers: number[]
  /** Whether the user is first seen in this pass, so that nothing of it was published before. */
  readonly areOfNewUsers: boolean[]
  readonly timesMs: number[]
  readonly highs: number[]
  readonly lows: number[]
  readonly sessionIds: (string | null)[]
  readonly properties: string[]
}

/** What a pass begins with. */
interface SealedBefore {
  readonly root: Root
  readonly erased: ErasedSet
  readonly memory: ProjectMemory
}

/**
 * Numbers the users of arrived events, drops those of erased users and what was published before, and builds
 * sections of the rest.
 * An event is known by its user, id and day: in level 0 by a set in memory, in merged segments by a Bloom
 * filter, whose hits are looked up.
 */
export async function sealRows(
  blocks: readonly BlockColumns[],
  before: SealedBefore,
): Promise<SealedRows> {
  const { root, memory } = before
  const { days, users, keys } = numbered(blocks, before)
  const sections: SectionRows[] = []
  for (const ofDay of days) {
    const { eventName, day, userNumbers, areOfNewUsers, timesMs, highs, lows } = ofDay
    const published = await publishedTest(await memory.mergedSections(root, ofDay), memory)
    const builder = openSectionBuilder(eventName, day)
    const id = new Uint32Array(2)
    let count = 0
    for (let row = 0; row < userNumbers.length; row++) {
      const userNumber = userNumbers[row]!
      const high = highs[row]!
      const low = lows[row]!
      const mayBePublished = !areOfNewUsers[row]! && published.mayBe(high, low)
      if (mayBePublished && (await published.is(userNumber, high, low))) continue
      id[0] = high
      id[1] = low
      const [sessionId, properties] = [ofDay.sessionIds[row]!, ofDay.properties[row]!]
      builder.add({ userNumber, timeMs: timesMs[row]!, id, sessionId, properties })
      count++
    }
    if (count > 0) sections.push(builder.build())
  }
  return { sections, users, keys }
}

function numbered(blocks: readonly BlockColumns[], { root, erased, memory }: SealedBefore) {
  const { hashKey } = root
  const numbering = openNumbering(hashKey, erased, memory)
  const seen = openIdSet()
  const byName = new Map<string, Map<number, EventsOfDay>>()
  const words = new Uint32Array(2)
  for (const block of blocks)
    for (let at = 0; at < block.eventCount; at++) {
      const { eventIds, eventNames, sessionIds, properties } = block
      const timeMs = block.eventTimeMs[at]!
      const day = dayOf(timeMs)
      const userNumber = numbering.numberOf(block.userIds[at]!, block.receivedAtMs[at]!)
      if (userNumber === ERASED) continue
      hashIdentity(words, hashKey, { eventId: eventIds, offset: 16 * at, userNumber, day })
      const high = words[0]!
      const low = words[1]!
      if (memory.hasFreshId(high, low) || !seen.add(high, low)) continue
      const ofDay = eventsOf(byName, eventNames[at]!, day)
      ofDay.userNumbers.push(userNumber)
      ofDay.areOfNewUsers.push(numbering.isLastNew())
      ofDay.timesMs.push(timeMs - day * DAY_MS)
      ofDay.highs.push(high)
      ofDay.lows.push(low)
      ofDay.sessionIds.push(sessionIds[at]!)
      ofDay.properties.push(properties[at]!)
    }
  const days = [...byName.values()].flatMap((ofName) => [...ofName.values()])
  return { days, ...numbering.added() }
}

/** In the place of a number: the event is of an erased user. */
const ERASED = -1

/** Gives users their numbers: the known ones theirs, new ones the next of their bucket. */
function openNumbering(hashKey: HashKey, erased: ErasedSet, { users: known }: ProjectMemory) {
  const added = openUserMap()
  const users: ListedUser[] = []
  const keys: number[] = []
  const words = new Uint32Array(2)
  let isNew = false
  return {
    /** ERASED for an event received by the moment as of which its user is erased. */
    numberOf(userId: string, receivedAtMs: number): number {
      const bucket = userKeyOf(words, hashKey, userId)
      const high = words[0]!
      const low = words[1]!
      const erasure = erased.find(bucket, high, low)
      if (erasure !== undefined && receivedAtMs <= erasure.erasedAtMs) return ERASED
      const n = known.find(bucket, high, low)
      const published = n * BUCKET_COUNT + bucket
      // Whoever comes back after an erasure is a new person.
      isNew = n === -1 || (erasure?.userNumbers.includes(published) ?? false)
      if (!isNew) return published
      const before = known.nextOf(bucket)
      const found = added.find(bucket, high, low)
      if (found !== -1) return (before + found) * BUCKET_COUNT + bucket
      const next = added.nextOf(bucket)
      const userNumber = (before + next) * BUCKET_COUNT + bucket
      if (before + next > USERS_PER_BUCKET_MAX)
        throw new Error(`bucket ${bucket} is full: it has ${before + next} users`)
      added.set(bucket, high, low, next)
      users.push({ userNumber, userId })
      keys.push(high, low)
      return userNumber
    },

    /** Whether the user that was numbered last is first seen in this pass. */
    isLastNew: () => isNew,

    /** The new users in ascending order of their numbers, and their keys. */
    added() {
      const order = Uint32Array.from(users.keys())
      order.sort((a, b) => users[a]!.userNumber - users[b]!.userNumber)
      const sortedKeys = new Uint32Array(keys.length)
      for (const [index, from] of order.entries()) {
        sortedKeys[2 * index] = keys[2 * from]!
        sortedKeys[2 * index + 1] = keys[2 * from + 1]!
      }
      return { users: Array.from(order, (index) => users[index]!), keys: sortedKeys }
    },
  }
}

function eventsOf(
  byName: Map<string, Map<number, EventsOfDay>>,
  eventName: string,
  day: number,
): EventsOfDay {
  let ofName = byName.get(eventName)
  if (ofName === undefined) byName.set(eventName, (ofName = new Map()))
  let ofDay = ofName.get(day)
  if (ofDay !== undefined) return ofDay
  ofDay = {
    ...{ eventName, day, userNumbers: [], areOfNewUsers: [], timesMs: [] },
    ...{ highs: [], lows: [], sessionIds: [], properties: [] },
  }
  ofName.set(day, ofDay)
  return ofDay
}

/** Tells whether an event was published in merged sections of its name and day. */
interface PublishedTest {
  /** False is certain. */
  readonly mayBe: (high: number, low: number) => boolean
  readonly is: (userNumber: number, high: number, low: number) => Promise<boolean>
}

async function publishedTest(
  merged: readonly MergedSection[],
  memory: ProjectMemory,
): Promise<PublishedTest> {
  const filtered: (MergedSection & { readonly filter: Uint32Array | null })[] = []
  for (const { ref, section } of merged)
    filtered.push({ ref, section, filter: await memory.filter(ref, section) })
  const mayBeIn = (filter: Uint32Array | null, high: number, low: number) =>
    filter === null || mayContain(filter, high, low)

  return {
    mayBe(high, low) {
      for (const { filter } of filtered) if (mayBeIn(filter, high, low)) return true
      return false
    },

    async is(userNumber, high, low) {
      for (const { ref, section, filter } of filtered) {
        if (!mayBeIn(filter, high, low)) continue
        const run = runOf(section, userNumber, ref.readGroupCount)
        if (run === null) continue
        if ((await memory.idsOfRun(ref, section, run)).has(high, low)) return true
      }
      return false
    },
  }
}

/** Returns the range of rows among which a user's events of a section lie; null where there are none. */
function runOf({ runs }: Section, userNumber: number, readGroupCount: number) {
  const { readGroup, foldGroup } = placeOf(userNumber, readGroupCount)
  let from = 0
  for (let at = 0; at < runs.length; at += 3) {
    const to = from + runs[at + 2]!
    if (runs[at] === readGroup && runs[at + 1] === foldGroup) return { from, to }
    from = to
  }
  return null
}
