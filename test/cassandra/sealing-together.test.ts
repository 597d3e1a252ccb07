import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/event/day.ts'
import type { Event } from '../../src/event/event.ts'
import { openFreshness } from '../../src/query/freshness.ts'
import type { ProjectSealer } from '../../src/seal/project-sealer.ts'
import { openTestKeyspace } from '../support/keyspace.ts'
import {
  asPublished,
  finish,
  openRandom,
  openSealedProject,
  openTestWriter,
  reachableObjects,
  someEvents,
  storedObjects,
} from '../support/sealing.ts'

const { stores } = await openTestKeyspace()

const ROUNDS = 24

test('two sealers at once publish every event once', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const random = openRandom(seed)
  const project = await openSealedProject(stores)
  const { projectId, clock, writer } = project
  const other = openTestWriter(stores, projectId)
  await other.announce()
  const sealers = [project.sealer, project.sealerOn()]
  const events: Event[] = []

  async function work(sealer: ProjectSealer): Promise<void> {
    for (let step = 0; step < 3; step++) {
      const choice = random()
      if (choice < 0.7) await sealer.seal()
      else if (choice < 0.9) await sealer.merge(1 + Math.floor(2 * random()))
      else await sealer.sweep()
    }
  }

  for (let round = 0; round < ROUNDS; round++) {
    for (const by of [writer, other]) {
      const userId = random() < 0.3 ? `new ${round}` : String(round % 50)
      const eventTimeMs = Date.now() - Math.floor(40 * random()) * DAY_MS
      const fresh = [...someEvents(5), ...someEvents(5, { userId, eventTimeMs, eventName: 'x' })]
      await by.commit([...fresh, ...events.slice(-8 * Math.ceil(4 * random()))])
      await by.beat()
      events.push(...fresh)
    }
    clock.pass(Math.floor(random() * 20_000))
    await Promise.all(sealers.map(work))
    if (random() < 0.2) {
      clock.pass(2 * HOUR_MS)
      // A beat that is seen, so that nobody takes the writers for dead.
      for (const by of [writer, other]) await by.beat()
    }
  }
  for (const sealer of sealers) {
    for (const by of [writer, other]) await by.beat()
    await finish(sealer, clock)
    expect(await project.published(), `seed ${seed}`).toEqual(asPublished(events))
  }
  const stored = await storedObjects(stores)
  expect(stored.get(projectId)).toEqual(await reachableObjects(stores, projectId))
})

test('a wall clock that is turned loses nothing, and says of no answer that it is of the future', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const random = openRandom(seed)
  const project = await openSealedProject(stores)
  const { clock, writer, sealer } = project
  const startMs = clock.nowMs()
  const events: Event[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const fresh = someEvents(10)
    events.push(...fresh)
    await writer.commit([...fresh, ...events.slice(0, 3)])
    await writer.beat()
    clock.turn(Math.round((random() - 0.5) * (random() < 0.5 ? HOUR_MS : 2 * DAY_MS)))
    const by = random() < 0.3 ? project.sealerOn() : sealer
    const outcome = await by.seal()
    const { asOfMs } = await project.root()
    expect(outcome!.asOfMs).toBeLessThanOrEqual(clock.nowMs() + MINUTE_MS)
    expect(asOfMs, `seed ${seed}`).toBeLessThanOrEqual(clock.nowMs() + MINUTE_MS)
    if (random() < 0.3) await sealer.merge(Infinity)
    if (random() < 0.3) await sealer.sweep()
  }
  expect(await project.published(), `seed ${seed}`).toEqual(asPublished(events))
  clock.turn(startMs + 12 * DAY_MS - clock.nowMs())
  await writer.beat()
  await finish(sealer, clock)
  expect(await project.published(), `seed ${seed}`).toEqual(asPublished(events))
  const stored = await storedObjects(stores)
  // Nothing that is needed is gone. What was noted for a time that a clock ahead had swept before may stay.
  const reachable = await reachableObjects(stores, project.projectId)
  expect(stored.get(project.projectId), `seed ${seed}`).toEqual(expect.arrayContaining(reachable))
})

test('an answer says that it is as of no later than now, whatever a wrong clock published', async () => {
  const { projectId, clock, writer, sealer } = await openSealedProject(stores)
  const events = someEvents(10)
  await writer.commit(events)
  clock.turn(2 * DAY_MS)
  await sealer.seal()
  clock.turn(-2 * DAY_MS)
  await writer.commit(someEvents(10))
  const freshness = openFreshness({ ...stores, clock, sealNow: () => Promise.reject(new Error()) })
  const project = { projectId, name: 'a', timeZone: 'UTC', retentionDays: 400, weekStart: 1 }
  const { asOfMs } = await freshness.view(
    { ...project, createdAtMs: 0 },
    'sealed',
    new AbortController().signal,
  )
  expect(asOfMs).toBeLessThanOrEqual(clock.nowMs())
})
