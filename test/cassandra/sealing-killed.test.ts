import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../src/event/day.ts'
import { encodeRoot, type Root } from '../../src/segment/root.ts'
import type { Session } from '../../src/store/session.ts'
import { openStores } from '../../src/store/stores.ts'
import { sessionAround, sessionKilledAt, type Call } from '../support/faulty-session.ts'
import { openTestKeyspace } from '../support/keyspace.ts'
import {
  asPublished,
  finish,
  openRandom,
  openTestClock,
  openTestSealer,
  openTestWriter,
  publishedEvents,
  reachableObjects,
  someEvents,
  storedObjects,
} from '../support/sealing.ts'

// A sealer is killed at each of its statements, or at a sample of them, and another takes over. Every try
// has a project of its own, which is a copy of one that was made once.

const { stores, session } = await openTestKeyspace()

const KILLS = 14
const PASSES = 15
const WRITES = new Set(['objects write', 'arrivals append', 'writers announce'])

interface Original {
  readonly calls: readonly Call[]
  readonly root: Root
  readonly writer: string
  readonly lastSequence: number
  /** As they are to be published. */
  readonly events: readonly string[]
}

/** A project with 15 segments of level 0, and a gap and two commits more that are not sealed yet. */
async function anOriginal(): Promise<Original> {
  const projectId = randomUUID()
  const calls: Call[] = []
  const recorded = sessionAround(session, async (call, run) => {
    const result = await run()
    const { table, operation } = call.statement
    if (WRITES.has(`${table} ${operation}`)) calls.push(call)
    return result
  })
  const recordedStores = openStores(recorded)
  const writer = openTestWriter(recordedStores, projectId)
  await writer.announce()
  await writer.beat()
  const sealer = openTestSealer(recordedStores, projectId, openTestClock())
  const now = Date.now()
  const events = Array.from({ length: PASSES + 2 }, (_, pass) => [
    ...someEvents(400, { eventName: 'many', eventTimeMs: now }),
    ...someEvents(20, { eventName: 'few', eventTimeMs: now - DAY_MS }),
    ...someEvents(5, { eventName: 'old', eventTimeMs: now - 60 * DAY_MS, userId: `of ${pass}` }),
  ])
  for (const ofPass of events.slice(0, PASSES)) {
    await writer.commit(ofPass)
    await sealer.seal()
  }
  writer.take()
  await writer.commit([...events[PASSES]!, ...events[0]!])
  await writer.commit([...events[PASSES + 1]!, ...events[3]!])
  const { root } = await stores.snapshots.root(projectId)
  const lastSequence = writer.take() - 1
  const published = asPublished(events.flat())
  return { calls, root: root!, writer: writer.writer, lastSequence, events: published }
}

async function copyOf({ calls, root, writer, lastSequence }: Original): Promise<string> {
  const projectId = randomUUID()
  await Promise.all(
    calls.map(({ statement, values }) =>
      session.execute(statement, [projectId, ...values.slice(1)]),
    ),
  )
  await stores.roots.publish(projectId, 0, encodeRoot(root))
  const projects = new Map([[projectId, { lastSequence, rowsWholeThrough: lastSequence }]])
  await stores.writerHeads.write(writer, { beat: 1, beatAtMs: Date.now(), projects })
  return projectId
}

/** All that a sealer does: two passes, merging, sweeping. */
async function sealAll(
  on: Session,
  projectId: string,
  clock: ReturnType<typeof openTestClock>,
): Promise<void> {
  await finish(openTestSealer(openStores(on), projectId, clock), clock)
}

test('what a killed sealer left is finished by another, wherever it was killed', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const random = openRandom(seed)
  const original = await anOriginal()
  const whole = sessionKilledAt(session, { at: Infinity, isTaken: false })
  const projectIds = [await copyOf(original)]
  await sealAll(whole.session, projectIds[0]!, openTestClock())
  const statements = whole.count()
  expect(statements).toBeGreaterThan(KILLS)
  for (let kill = 0; kill < KILLS; kill++) {
    const at = Math.floor(((kill + random()) * statements) / KILLS)
    const isTaken = random() < 0.5
    const name = `seed ${seed}, killed at ${at} of ${statements}, taken: ${isTaken}`
    const projectId = await copyOf(original)
    projectIds.push(projectId)
    const clock = openTestClock()
    const { session: killed } = sessionKilledAt(session, { at, isTaken })
    await expect(sealAll(killed, projectId, clock), name).rejects.toThrow('killed')
    if (random() < 0.5) clock.pass(5 * HOUR_MS)
    await sealAll(session, projectId, clock)
    const published = asPublished(await publishedEvents(openStores(session), projectId))
    expect(published, name).toEqual(original.events)
  }
  const stored = await storedObjects(stores)
  for (const projectId of projectIds)
    expect(stored.get(projectId)).toEqual(await reachableObjects(stores, projectId))
  const { root } = await stores.snapshots.root(projectIds[0]!)
  const pages = await Promise.all(
    Object.values(root!.pages).map((page) => stores.snapshots.page(projectIds[0]!, page)),
  )
  const isAlone = pages.flat().map(({ section }) => section !== null)
  expect(new Set(isAlone)).toEqual(new Set([true, false]))
})

test('a sealer killed before it published a project’s first root leaves nothing for ever', async () => {
  const projectId = randomUUID()
  const writer = openTestWriter(stores, projectId)
  await writer.announce()
  await writer.beat()
  await writer.commit(someEvents(10))
  const clock = openTestClock()
  const count = sessionKilledAt(session, { at: Infinity, isTaken: false })
  const isRootWrite = ({ statement }: Call) =>
    statement.table === 'roots' && statement.operation === 'create'
  const killed = sessionAround(count.session, async (call, run) => {
    if (isRootWrite(call)) throw new Error('killed')
    return await run()
  })
  await expect(sealAll(killed, projectId, clock)).rejects.toThrow('killed')
  clock.pass(5 * HOUR_MS)
  await sealAll(session, projectId, clock)
  const stored = await storedObjects(stores)
  expect(stored.get(projectId)).toEqual(await reachableObjects(stores, projectId))
})
