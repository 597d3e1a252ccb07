import { randomUUID } from 'node:crypto'
import type { Clock } from '../../src/clock.ts'
import { DAY_MS, HOUR_MS } from '../../src/event/day.ts'
import type { Event } from '../../src/event/event.ts'
import { declareMetrics } from '../../src/metrics.ts'
import { openProjectSealer, type ProjectSealer } from '../../src/seal/project-sealer.ts'
import { readSegment } from '../../src/seal/read-segment.ts'
import { encodeBlock } from '../../src/segment/block.ts'
import { USERS } from '../../src/segment/directory.ts'
import { objectsOfRoot } from '../../src/segment/root.ts'
import { decodeUsers } from '../../src/segment/user-list.ts'
import { openRowWriter } from '../../src/store/row-writer.ts'
import { openStores, type Stores } from '../../src/store/stores.ts'
import { openErasures } from '../../src/upkeep/erase-user.ts'
import { anEvent } from './an-event.ts'
import { silentLog } from './keyspace.ts'

/** A clock that a test turns. Begins at the real time. */
export function openTestClock(startMs = Date.now()) {
  let nowMs = startMs
  let monotonicMs = 0
  return {
    nowMs: () => nowMs,
    monotonicMs: () => monotonicMs,
    /** Lets time pass. */
    pass(ms: number): void {
      nowMs += ms
      monotonicMs += ms
    },
    /** Turns the wall clock alone. */
    turn: (ms: number) => void (nowMs += ms),
  } satisfies Clock & Record<string, unknown>
}

/** A writer as ingest is one, every step by hand. */
export function openTestWriter({ arrivals, writers, writerHeads }: Stores, projectId: string) {
  const writer = randomUUID()
  let sequence = 0
  let beat = 0
  return {
    writer,
    announce: () => writers.announce(projectId, writer, Date.now()),

    /** Takes the next number, and leaves a gap until the block is written. */
    take: () => sequence++,

    append: (at: number, events: readonly Event[]) =>
      arrivals.append({ projectId, writer, sequence: at, block: encodeBlock(events) }),

    async commit(events: readonly Event[]): Promise<void> {
      await this.append(this.take(), events)
    },

    async beat(rowsWholeThrough = sequence - 1): Promise<void> {
      const head = { lastSequence: sequence - 1, rowsWholeThrough }
      const projects = new Map([[projectId, head]])
      await writerHeads.write(writer, { beat: beat++, beatAtMs: Date.now(), projects })
    },
  }
}

/** A sealer of one project, on a clock of the test's. */
export function openTestSealer(
  stores: Stores,
  projectId: string,
  clock: Clock,
  retentionDays = 400,
) {
  const metrics = declareMetrics({ isThread: true })
  const rows = openRowWriter({ ...stores, metrics, batchesInFlightMax: 8 })
  const dependencies = { stores, rows, clock, metrics, log: silentLog }
  const createdAtMs = Date.now()
  return openProjectSealer({ projectId, retentionDays, createdAtMs }, dependencies)
}

/** Erases users of one project, as a process does that has these stores. Returns the moment. */
export function openTestEraser(stores: Stores, projectId: string, clock: Clock) {
  const erasures = openErasures({ stores, clock, admit: (erase) => erase() })
  const settings = { name: 'a project', timeZone: 'UTC', retentionDays: 400, weekStart: 1 }
  const project = { projectId, ...settings, createdAtMs: Date.now() }
  return async (userId: string): Promise<number> =>
    (await erasures.erase(project, { userId, askedBy: 'a key' })).erasedAtMs
}

export interface PublishedEvent {
  readonly userId: string
  readonly eventName: string
  readonly eventTimeMs: number
  readonly properties: Record<string, unknown>
}

/** Everything that a project's root leads to and nobody erased, read back as events; in no order. */
export async function publishedEvents(
  stores: Stores,
  projectId: string,
): Promise<PublishedEvent[]> {
  const { snapshots, objects } = stores
  const { root } = await snapshots.root(projectId)
  if (root === null) return []
  const erased = new Set((await snapshots.erased(projectId, root)).userNumbers)
  const userIds = new Map<number, string>()
  const lists = [
    ...root.userLists.map(({ object }) => object),
    ...root.fresh.map(({ segment }) => segment),
  ]
  for (const object of lists)
    for await (const page of objects.read({ projectId, object }, [USERS]))
      for (const { bytes } of page)
        for (const { userNumber, userId } of decodeUsers(bytes)) {
          if (userIds.has(userNumber)) throw new Error(`user number ${userNumber} twice`)
          userIds.set(userNumber, userId)
        }
  const live = [...userIds].flatMap(([number, userId]) => (erased.has(number) ? [] : [userId]))
  if (new Set(live).size !== live.length) throw new Error('a user with two numbers')
  const pages = await Promise.all(
    Object.values(root.pages).map((id) => snapshots.page(projectId, id)),
  )
  const events: PublishedEvent[] = []
  for (const ref of [...root.fresh, ...pages.flat()])
    for (const rows of await readSegment(stores, projectId, ref))
      for (let row = 0; row < rows.rowCount; row++) {
        if (erased.has(rows.userNumber[row]!)) continue
        events.push({
          userId: userIds.get(rows.userNumber[row]!)!,
          eventName: rows.eventName,
          eventTimeMs: rows.day * DAY_MS + rows.timeMs[row]!,
          properties: Object.fromEntries(
            [...rows.properties].flatMap(([path, { codes, values }]) =>
              codes[row] === 0 ? [] : [[path, values[codes[row]!]]],
            ),
          ),
        })
      }
  return events
}

/** Events as they are to be published: each once, in an order that can be compared. */
export function asPublished(events: readonly (Event | PublishedEvent)[]): string[] {
  const texts = events.map(({ userId, eventName, eventTimeMs, properties }) => {
    const parsed = (typeof properties === 'string' ? JSON.parse(properties) : properties) as object
    const sorted = Object.entries(parsed).sort(([a], [b]) => (a < b ? -1 : 1))
    return JSON.stringify([userId, eventName, eventTimeMs, sorted])
  })
  return texts.sort()
}

/** A project with one writer, and sealers that share a clock; each has a memory of its own. */
export async function openSealedProject(stores: Stores, retentionDays = 400) {
  const { session } = stores
  const projectId = randomUUID()
  const writer = openTestWriter(stores, projectId)
  await writer.announce()
  await writer.beat()
  const clock = openTestClock()
  const sealerOn = (on = session) => openTestSealer(openStores(on), projectId, clock, retentionDays)
  return {
    ...{ projectId, writer, clock, sealerOn },
    sealer: sealerOn(),
    eraser: openTestEraser(stores, projectId, clock),
    /** What is published, read by somebody who knows nothing yet. */
    published: async () => asPublished(await publishedEvents(openStores(session), projectId)),
    root: async () => (await stores.snapshots.root(projectId)).root!,
  }
}

/** Events of 37 users and 7 values of a property. */
export function someEvents(count: number, part: Parameters<typeof anEvent>[0] = {}): Event[] {
  return Array.from({ length: count }, (_, index) =>
    anEvent({ userId: String(index % 37), properties: `{"n":${index % 7}}`, ...part }),
  )
}

/** Seals until nothing is left, merges, and sweeps three hours later. */
export async function finish(
  sealer: ProjectSealer,
  clock: ReturnType<typeof openTestClock>,
): Promise<void> {
  let isDrained = false
  while (!isDrained) isDrained = (await sealer.seal())?.isDrained ?? false
  await sealer.merge(Infinity)
  clock.pass(3 * HOUR_MS)
  await sealer.sweep()
}

/** Every object that a project's root leads to, by its pages too. */
export async function reachableObjects(stores: Stores, projectId: string): Promise<string[]> {
  const { root } = await stores.snapshots.root(projectId)
  if (root === null) return []
  const pages = await Promise.all(
    Object.values(root.pages).map((page) => stores.snapshots.page(projectId, page)),
  )
  return [...objectsOfRoot(root), ...pages.flat().map(({ segment }) => segment)].sort()
}

/** Every object that there is of each project, whoever leads to it. */
export async function storedObjects({ session }: Stores): Promise<Map<string, string[]>> {
  const cql = 'SELECT DISTINCT project, object FROM objects'
  const rows = await session.all({ table: 'objects', operation: 'listAll', cql }, [])
  const found = new Map<string, string[]>()
  for (const row of rows) {
    const project = row['project'] as string
    found.set(project, [...(found.get(project) ?? []), String(row['object'])].sort())
  }
  return found
}

/** Numbers from 0 to 1, the same for the same seed (Mulberry32, Tommy Ettinger). */
export function openRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b_79f5) | 0
    let word = Math.imul(state ^ (state >>> 15), 1 | state)
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32
  }
}
