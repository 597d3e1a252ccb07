import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { bucketOf } from '../../src/event/bucket.ts'
import { dayOf } from '../../src/event/day.ts'
import type { Event } from '../../src/event/event.ts'
import { encodeRoot } from '../../src/segment/root.ts'
import { openStores } from '../../src/store/stores.ts'
import { isPublishing, sessionStoppedAt } from '../support/faulty-session.ts'
import { openTestKeyspace } from '../support/keyspace.ts'
import { writeRows } from '../support/rows.ts'
import {
  asPublished,
  finish,
  openRandom,
  openSealedProject,
  openTestEraser,
  openTestSealer,
  openTestWriter,
  publishedEvents,
  reachableObjects,
  someEvents,
  storedObjects,
} from '../support/sealing.ts'

// What is published counts when nobody has erased it: an erasure is true of sealed events at once, and the
// sealer drops those that come after it.

const { stores, session } = await openTestKeyspace()

type SealedProject = Awaited<ReturnType<typeof openSealedProject>>

/** Events received at the test's time, which then passes. */
function receivedNow({ clock }: SealedProject, count: number, userId: string): Event[] {
  clock.pass(10)
  const receivedAtMs = clock.nowMs()
  clock.pass(10)
  return someEvents(count, { userId, receivedAtMs, eventTimeMs: receivedAtMs - 1_000 })
}

/** The same events, sent again. */
function resentNow({ clock }: SealedProject, events: readonly Event[]): Event[] {
  clock.pass(10)
  return events.map((event) => ({ ...event, receivedAtMs: clock.nowMs() }))
}

async function seal({ writer, sealer }: SealedProject, events: readonly Event[]): Promise<void> {
  await writer.commit(events)
  await writer.beat()
  await sealer.seal()
}

describe('a user who was sealed', () => {
  test('is gone at once, and stays so when segments are merged, placed anew and swept', async () => {
    const project = await openSealedProject(stores)
    const { projectId, sealer, clock, eraser } = project
    const others = receivedNow(project, 40, 'bob')
    await seal(project, [...receivedNow(project, 20, 'ada'), ...others.slice(0, 10)])
    for (let pass = 0; pass < 15; pass++) {
      const some = others.slice(10 + 2 * pass, 12 + 2 * pass)
      await seal(project, [...receivedNow(project, 2, 'ada'), ...some])
    }
    await eraser('ada')
    expect(await project.published()).toEqual(asPublished(others))
    await sealer.merge(Infinity)
    expect(await project.published()).toEqual(asPublished(others))
    const { version, root } = await stores.snapshots.root(projectId)
    const grown = { ...root!, readGroupCount: 5, publication: randomUUID() }
    await stores.roots.publish(projectId, version, encodeRoot(grown))
    await finish(sealer, clock)
    expect(await project.published()).toEqual(asPublished(others))
    const stored = await storedObjects(stores)
    expect(stored.get(projectId)).toEqual(await reachableObjects(stores, projectId))
  })

  test('is a new person afterwards, under a number that nobody has had', async () => {
    const project = await openSealedProject(stores)
    const { eraser, writer, sealerOn } = project
    // Of one bucket each, so that they follow each other.
    const sameBucket = String(bucketOf('ada'))
    await seal(project, receivedNow(project, 5, 'ada'))
    await eraser('ada')
    const kept: Event[] = []
    for (const by of [project.sealer, sealerOn(), project.sealer]) {
      const more = [
        ...receivedNow(project, 3, 'ada'),
        ...receivedNow(project, 2, `${kept.length + 1}${sameBucket.padStart(3, '0')}`),
      ]
      kept.push(...more)
      await writer.commit(more)
      await writer.beat()
      await by.seal()
      expect(await project.published()).toEqual(asPublished(kept))
    }
    await eraser('ada')
    const others = kept.filter(({ userId }) => userId !== 'ada')
    expect(await project.published()).toEqual(asPublished(others))
    const again = receivedNow(project, 1, 'ada')
    await seal(project, again)
    expect(await project.published()).toEqual(asPublished([...others, ...again]))
    const { erasures } = await stores.snapshots.erased(project.projectId, await project.root())
    expect(erasures).toMatchObject([{ userId: 'ada', askedBy: 'a key' }])
    expect(erasures[0]!.userNumbers.length).toBe(2)
  })

  test('counts again by what is sent again, even the same events', async () => {
    const project = await openSealedProject(stores)
    const events = receivedNow(project, 6, 'ada')
    await seal(project, events)
    await project.eraser('ada')
    const again = resentNow(project, events.slice(0, 2))
    await seal(project, [...again, ...again])
    await seal(project, resentNow(project, again))
    expect(await project.published()).toEqual(asPublished(again))
  })
})

describe('events that wait to be sealed', () => {
  test('are dropped when they came before the erasure, and kept when after', async () => {
    const project = await openSealedProject(stores)
    const { writer, eraser } = project
    const before = receivedNow(project, 5, 'ada')
    await writer.commit([...before, ...receivedNow(project, 5, 'bob')])
    await eraser('ada')
    const after = [...receivedNow(project, 3, 'ada'), ...resentNow(project, before.slice(0, 1))]
    await seal(project, after)
    expect((await project.published()).filter((text) => text.includes('"ada"'))).toEqual(
      asPublished(after),
    )
    expect((await project.published()).length).toBe(5 + 4)
  })

  test('of a dead writer are dropped, and their rows are not written', async () => {
    const project = await openSealedProject(stores)
    const { projectId, clock, sealer, eraser } = project
    const dead = openTestWriter(stores, projectId)
    await dead.announce()
    const [ada, bob] = [receivedNow(project, 5, 'ada'), receivedNow(project, 5, 'bob')]
    await dead.commit([...ada, ...bob])
    await dead.beat(-1)
    await eraser('ada')
    await sealer.seal()
    clock.pass(31_000)
    await sealer.seal()
    expect((await project.root()).writers[dead.writer]!.isClosed).toBe(true)
    expect(await project.published()).toEqual(asPublished(bob))
    const rowsOf = async (userId: string) => {
      const place = { bucket: bucketOf(userId), day: dayOf(ada[0]!.eventTimeMs) }
      let count = 0
      const pages = stores.events.scan({ projectId, ...place, withProperties: false })
      for await (const page of pages) count += page.length
      return count
    }
    expect([await rowsOf('ada'), await rowsOf('bob')]).toEqual([0, 5])
  })

  test('are dropped when the erasure comes between what a pass gathers and what it publishes', async () => {
    const project = await openSealedProject(stores)
    const { writer, sealerOn, eraser } = project
    const others = receivedNow(project, 5, 'bob')
    for (const isFirst of [true, false]) {
      await writer.commit([
        ...receivedNow(project, 5, 'ada'),
        ...(isFirst ? others : receivedNow(project, 5, 'ada')),
      ])
      await writer.beat()
      const slow = sessionStoppedAt(session, isPublishing)
      const sealer = sealerOn(slow.session)
      const sealing = sealer.seal()
      await slow.stopped
      await eraser('ada')
      slow.goOn()
      expect(await sealing).toBeNull()
      await sealer.seal()
      expect(await project.published()).toEqual(asPublished(others))
    }
  })

  test('of nobody that is known are nobody’s loss: an unknown user is erased like any', async () => {
    const project = await openSealedProject(stores)
    await project.eraser('nobody')
    const events = receivedNow(project, 3, 'nobody')
    await seal(project, events)
    expect(await project.published()).toEqual(asPublished(events))
  })
})

describe('what an erasure does not concern is published beside it', () => {
  /** A pass that stands before its publication while something else is published. */
  async function overtaken(work: (project: SealedProject) => Promise<void>) {
    const project = await openSealedProject(stores)
    await seal(project, receivedNow(project, 5, 'ada'))
    const events = receivedNow(project, 5, 'bob')
    await project.writer.commit(events)
    await project.writer.beat()
    const slow = sessionStoppedAt(session, isPublishing)
    const sealing = project.sealerOn(slow.session).seal()
    await slow.stopped
    await work(project)
    slow.goOn()
    return { project, events, outcome: await sealing }
  }

  test('a pass', async () => {
    const { project, events, outcome } = await overtaken(async ({ eraser }) => {
      await eraser('ada')
      await eraser('nobody')
    })
    expect(outcome?.eventCount).toBe(5)
    expect(await project.published()).toEqual(asPublished(events))
    const { erasures } = await stores.snapshots.erased(project.projectId, await project.root())
    expect(erasures.length).toBe(2)
  })

  test('but not where a sweep came between, which takes it that older work comes to nothing', async () => {
    const { project, outcome } = await overtaken(async ({ projectId, eraser }) => {
      await eraser('ada')
      const { version, root } = await stores.snapshots.root(projectId)
      const again = { ...root!, publication: randomUUID() }
      await stores.roots.publish(projectId, version, encodeRoot(again))
    })
    expect(outcome).toBeNull()
    expect(await project.published()).toEqual([])
  })

  test('a merge', async () => {
    const project = await openSealedProject(stores)
    const others = receivedNow(project, 16, 'bob')
    for (const event of others) await seal(project, [event, ...receivedNow(project, 1, 'ada')])
    const slow = sessionStoppedAt(session, isPublishing)
    const merging = project.sealerOn(slow.session).merge(1)
    await slow.stopped
    await project.eraser('ada')
    slow.goOn()
    await merging
    expect((await project.root()).fresh).toEqual([])
    expect(await project.published()).toEqual(asPublished(others))
  })
})

describe('a project without a root', () => {
  test('that has raw rows of before there was sealing is recovered, but for who is erased', async () => {
    const project = await openSealedProject(stores)
    const { clock } = project
    // No writer is known of it.
    const projectId = randomUUID()
    const old = { ...project, projectId }
    const events = [...receivedNow(old, 5, 'ada'), ...receivedNow(old, 5, 'bob')]
    await writeRows(session, stores.events, { projectId }, events)
    await stores.eventBuckets.add(
      projectId,
      events.map(({ userId, eventTimeMs }) => ({
        bucket: bucketOf(userId),
        day: dayOf(eventTimeMs),
      })),
    )
    await openTestEraser(stores, projectId, clock)('ada')
    const sealer = openTestSealer(stores, projectId, clock)
    await sealer.seal()
    expect(asPublished(await publishedEvents(stores, projectId))).toEqual(
      asPublished(events.slice(5)),
    )
  })
})

test('what two processes erase at once is erased, and nothing is left behind', async () => {
  const project = await openSealedProject(stores)
  const { projectId, clock, sealer } = project
  const names = ['a', 'b', 'c', 'd']
  await seal(
    project,
    [...names, 'e'].flatMap((name) => receivedNow(project, 2, name)),
  )
  const erasers = [1, 2].map(() => openTestEraser(openStores(session), projectId, clock))
  await Promise.all(erasers.flatMap((erase) => names.map((name) => erase(name))))
  const { erasures } = await stores.snapshots.erased(projectId, await project.root())
  expect(erasures.map(({ userId }) => userId).toSorted()).toEqual(names)
  expect((await project.published()).length).toBe(2)
  await finish(sealer, clock)
  const stored = await storedObjects(stores)
  expect(stored.get(projectId)).toEqual(await reachableObjects(stores, projectId))
})

test('where clocks differ, what is sealed was received before its user was erased', async () => {
  const project = await openSealedProject(stores)
  const { clock, eraser } = project
  const aheadMs = clock.nowMs() + 600
  await seal(project, someEvents(2, { userId: 'ada', receivedAtMs: aheadMs }))
  expect(await eraser('ada')).toBe(aheadMs)
  // One of a clock that is wrong altogether does not erase what is to come.
  await seal(project, someEvents(2, { userId: 'bob', receivedAtMs: aheadMs + 3_600_000 }))
  expect(await eraser('bob')).toBe(clock.nowMs() + 1_000)
})

test('sealers and erasers at once publish exactly what was received after its user was erased', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const random = openRandom(seed)
  const project = await openSealedProject(stores)
  const { projectId, clock, writer } = project
  const sealers = [project.sealer, project.sealerOn()]
  const users = Array.from({ length: 8 }, (_, index) => `user ${index}`)
  const anyUser = () => users[Math.floor(random() * users.length)]!
  const sent: Event[] = []
  const erasedAtMs = new Map<string, number>()
  for (let round = 0; round < 20; round++) {
    const fresh = [1, 2, 3].flatMap(() => receivedNow(project, 4, anyUser()))
    const again = resentNow(
      project,
      sent.filter(() => random() < 0.05),
    )
    await writer.commit([...fresh, ...again])
    await writer.beat()
    sent.push(...fresh, ...again)
    clock.pass(10)
    await Promise.all([
      ...sealers.map(async (sealer) => {
        await sealer.seal()
        if (random() < 0.4) await sealer.merge(2)
      }),
      ...(random() < 0.6 ? [anyUser()] : []).map(async (userId) =>
        erasedAtMs.set(userId, await project.eraser(userId)),
      ),
    ])
  }
  const live = sent.filter(
    ({ userId, receivedAtMs }) => receivedAtMs > (erasedAtMs.get(userId) ?? 0),
  )
  const expected = [
    ...new Map(live.map((event) => [event.eventId.toString('hex'), event])).values(),
  ]
  for (const sealer of sealers) {
    await writer.beat()
    await finish(sealer, clock)
    expect(await project.published(), `seed ${seed}`).toEqual(asPublished(expected))
  }
  const stored = await storedObjects(stores)
  expect(stored.get(projectId)).toEqual(await reachableObjects(stores, projectId))
})
