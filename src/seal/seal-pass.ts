import { DAY_MS, dayOf } from '../event/day.ts'
import { BUCKET_COUNT } from '../event/bucket.ts'
import { mayContain } from '../segment/bloom.ts'
import type { Section } from '../segment/directory.ts'
import { openIdSet } from '../segment/id-set.ts'
import { hashIdentity } from '../segment/identity-hash.ts'
import { placeOf, USERS_PER_BUCKET_MAX } from '../segment/place.ts'
import type { Root } from '../segment/root.ts'
import { openSectionBuilder } from '../segment/section-builder.ts'
import type { SectionRows } from '../segment/section.ts'
import type { ListedUser } from '../segment/user-list.ts'
import { openUserMap } from '../segment/user-map.ts'
import type { ArrivedEvent } from './gather.ts'
import { userKeyOf, type MergedSection, type ProjectMemory } from './project-memory.ts'

/** What one pass adds to a project: every event once, that was not published before. */
export interface SealedRows {
  readonly sections: readonly SectionRows[]
  /** First seen in these events; ascending by number. */
  readonly users: readonly ListedUser[]
}

/** An event whose user has a number; whether it was published before is to be found out. */
interface NumberedEvent {
  readonly event: ArrivedEvent
  readonly userNumber: number
  readonly isNewUser: boolean
  readonly timeMs: number
  readonly high: number
  readonly low: number
}

interface EventsOfDay {
  readonly eventName: string
  readonly day: number
  readonly events: NumberedEvent[]
}

/**
 * Numbers the users of arrived events, drops what was published before, and builds sections of the rest.
 * An event is known by its user, id and day: in level 0 by a set in memory, in merged segments by a Bloom
 * filter, whose hits are looked up.
 */
export async function sealRows(
  events: readonly ArrivedEvent[],
  { root, memory }: { readonly root: Root; readonly memory: ProjectMemory },
): Promise<SealedRows> {
  const { days, users } = numbered(events, root, memory)
  const sections: SectionRows[] = []
  for (const { eventName, day, events: candidates } of days) {
    const merged = await memory.mergedSections(root, { eventName, day })
    const isPublished = await publishedTest(merged, memory)
    const builder = openSectionBuilder(eventName, day)
    const id = new Uint32Array(2)
    let count = 0
    for (const candidate of candidates) {
      if (!candidate.isNewUser && (await isPublished(candidate))) continue
      const { event, userNumber, timeMs, high, low } = candidate
      id[0] = high
      id[1] = low
      builder.add({ userNumber, timeMs, id, properties: event.properties })
      count++
    }
    if (count > 0) sections.push(builder.build())
  }
  return { sections, users }
}

function numbered(events: readonly ArrivedEvent[], { hashKey }: Root, memory: ProjectMemory) {
  const added = openUserMap()
  const users: ListedUser[] = []
  const seen = openIdSet()
  const byName = new Map<string, Map<number, EventsOfDay>>()
  const words = new Uint32Array(2)

  function numberOf(userId: string): { n: number; bucket: number; isNewUser: boolean } {
    const bucket = userKeyOf(words, hashKey, userId)
    const [high, low] = words as unknown as [number, number]
    const known = memory.users.find(bucket, high, low)
    if (known !== -1) return { n: known, bucket, isNewUser: false }
    const fresh = added.find(bucket, high, low)
    const before = memory.users.countOf(bucket)
    if (fresh !== -1) return { n: before + fresh, bucket, isNewUser: true }
    const n = before + added.countOf(bucket)
    if (n > USERS_PER_BUCKET_MAX) throw new Error(`bucket ${bucket} is full: ${n} users`)
    added.set(bucket, high, low, n - before)
    users.push({ userNumber: n * BUCKET_COUNT + bucket, userId })
    return { n, bucket, isNewUser: true }
  }

  for (const event of events) {
    const day = dayOf(event.eventTimeMs)
    const { n, bucket, isNewUser } = numberOf(event.userId)
    const userNumber = n * BUCKET_COUNT + bucket
    hashIdentity(words, hashKey, { eventId: event.eventId, offset: 0, userNumber, day })
    const [high, low] = words as unknown as [number, number]
    if (memory.hasFreshId(high, low) || !seen.add(high, low)) continue
    const timeMs = event.eventTimeMs - day * DAY_MS
    eventsOf(byName, event.eventName, day).push({
      ...{ event, userNumber, isNewUser, timeMs, high, low },
    })
  }
  users.sort((a, b) => a.userNumber - b.userNumber)
  return { days: [...byName.values()].flatMap((ofName) => [...ofName.values()]), users }
}

function eventsOf(byName: Map<string, Map<number, EventsOfDay>>, eventName: string, day: number) {
  let ofName = byName.get(eventName)
  if (ofName === undefined) byName.set(eventName, (ofName = new Map()))
  let ofDay = ofName.get(day)
  if (ofDay === undefined) ofName.set(day, (ofDay = { eventName, day, events: [] }))
  return ofDay.events
}

async function publishedTest(merged: readonly MergedSection[], memory: ProjectMemory) {
  const filtered: (MergedSection & { readonly filter: Uint32Array | null })[] = []
  for (const { ref, section } of merged)
    filtered.push({ ref, section, filter: await memory.filter(ref, section) })

  return async ({ userNumber, high, low }: NumberedEvent): Promise<boolean> => {
    for (const { ref, section, filter } of filtered) {
      if (filter !== null && !mayContain(filter, high, low)) continue
      const run = runOf(section, userNumber, ref.readGroupCount)
      if (run === null) continue
      if ((await memory.idsOfRun(ref, section, run)).has(high, low)) return true
    }
    return false
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
