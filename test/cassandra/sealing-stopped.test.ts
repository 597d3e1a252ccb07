import { describe, expect, test } from 'vitest'
import { AppError } from '../../src/error.ts'
import { HOUR_MS } from '../../src/event/day.ts'
import { PACK } from '../../src/segment/directory.ts'
import {
  isPublishing,
  sessionAround,
  sessionStoppedAt,
  type Call,
} from '../support/faulty-session.ts'
import { openTestKeyspace } from '../support/keyspace.ts'
import {
  asPublished,
  finish,
  openSealedProject,
  reachableObjects,
  someEvents,
  storedObjects,
} from '../support/sealing.ts'

const { stores, session } = await openTestKeyspace()

type SealedProject = Awaited<ReturnType<typeof openSealedProject>>

const isObjectWrite = ({ statement: { table, operation } }: Call) =>
  table === 'objects' && operation === 'write'

async function commitAndSeal(project: SealedProject, passes: number, size = 20) {
  const events = someEvents(passes * size)
  for (let pass = 0; pass < passes; pass++) {
    await project.writer.commit(events.slice(pass * size, (pass + 1) * size))
    await project.sealer.seal()
  }
  return events
}

async function expectNothingLoose({ projectId }: SealedProject): Promise<void> {
  const stored = await storedObjects(stores)
  expect(stored.get(projectId)).toEqual(await reachableObjects(stores, projectId))
}

/** Turns up at the n-th statement of a kind, from 0. */
function nth(isOfKind: (call: Call) => boolean, n: number) {
  let count = 0
  return (call: Call) => isOfKind(call) && count++ === n
}

const places: [string, () => (call: Call) => boolean][] = [
  ['before it publishes', () => isPublishing],
  ['between two objects', () => nth(isObjectWrite, 1)],
]

describe('a sealer that stood still for five hours', () => {
  test.each(places)('while sealing, %s, publishes over nobody', async (_name, place) => {
    const project = await openSealedProject(stores)
    const events = await commitAndSeal(project, 3)
    const more = someEvents(60, { userId: 'new' })
    await project.writer.commit(more)
    const { session: still, stopped, goOn } = sessionStoppedAt(session, place())
    const slow = project.sealerOn(still)
    const sealing = slow.seal()
    await stopped
    const others = await commitAndSeal(project, 14)
    await project.sealer.merge(Infinity)
    project.clock.pass(5 * HOUR_MS)
    await project.writer.beat()
    await project.sealer.sweep()
    goOn()
    expect(await sealing).toBeNull()
    const all = asPublished([...events, ...more, ...others])
    expect(await project.published()).toEqual(all)
    const late = someEvents(5, { userId: 'late' })
    await project.writer.commit([...late, ...more])
    await project.writer.beat()
    expect(await slow.seal()).toMatchObject({ isDrained: true })
    await finish(project.sealer, project.clock)
    expect(await project.published()).toEqual([...all, ...asPublished(late)].sort())
    await expectNothingLoose(project)
  })

  test.each(places)('while merging, %s, publishes over nobody', async (_name, place) => {
    const project = await openSealedProject(stores)
    const events = await commitAndSeal(project, 17)
    const { session: still, stopped, goOn } = sessionStoppedAt(session, place())
    const slow = project.sealerOn(still)
    const merging = slow.merge(1)
    await stopped
    const others = await commitAndSeal(project, 2)
    await project.sealer.merge(Infinity)
    project.clock.pass(5 * HOUR_MS)
    await project.writer.beat()
    await project.sealer.sweep()
    goOn()
    await merging
    expect(await project.published()).toEqual(asPublished([...events, ...others]))
    await finish(slow, project.clock)
    expect(await project.published()).toEqual(asPublished([...events, ...others]))
    await expectNothingLoose(project)
  })

  test('while merging, between two objects that it reads, tells of no damage', async () => {
    const project = await openSealedProject(stores)
    const events = await commitAndSeal(project, 17)
    const isPackRead = ({ statement: { table }, values }: Call) =>
      table === 'objects' && String(values[2]) === PACK
    const { session: still, stopped, goOn } = sessionStoppedAt(session, nth(isPackRead, 1))
    const merging = project.sealerOn(still).merge(1)
    await stopped
    await project.sealer.merge(Infinity)
    project.clock.pass(5 * HOUR_MS)
    await project.sealer.sweep()
    goOn()
    // What it was about to read is deleted, and rightly so.
    await expect(merging).resolves.toBeUndefined()
    expect(await project.published()).toEqual(asPublished(events))
  })

  test('while sweeping, before it deletes, deletes nothing that is led to', async () => {
    const project = await openSealedProject(stores)
    const events = await commitAndSeal(project, 17)
    await project.sealer.merge(Infinity)
    project.clock.pass(3 * HOUR_MS)
    await project.writer.beat()
    const isDelete = ({ statement: { table, operation } }: Call) =>
      table === 'objects' && operation === 'delete'
    const { session: still, stopped, goOn } = sessionStoppedAt(session, isDelete)
    const sweeping = project.sealerOn(still).sweep()
    await stopped
    const others = await commitAndSeal(project, 17)
    await project.sealer.merge(Infinity)
    project.clock.pass(5 * HOUR_MS)
    await project.writer.beat()
    await project.sealer.sweep()
    goOn()
    await sweeping
    expect(await project.published()).toEqual(asPublished([...events, ...others]))
    await finish(project.sealer, project.clock)
    expect(await project.published()).toEqual(asPublished([...events, ...others]))
    await expectNothingLoose(project)
  })
})

describe('a compare-and-set of unknown outcome', () => {
  const unknown = () => new AppError('OVERLOADED', 'roots publish: Cassandra is overloaded')

  /** Loses the outcome of the n-th publication, from 0. */
  function losing(n: number, isApplied: boolean) {
    const isIt = nth(isPublishing, n)
    return sessionAround(session, async (call, run) => {
      if (!isIt(call)) return await run()
      if (isApplied) await run()
      throw unknown()
    })
  }

  for (const n of [0, 1])
    test(`that was applied is found again (${n === 0 ? 'the first' : 'a later'} root)`, async () => {
      const project = await openSealedProject(stores)
      const sealer = project.sealerOn(losing(n, true))
      const events = someEvents(40)
      await project.writer.commit(events.slice(0, 20))
      expect(await sealer.seal()).toMatchObject({ eventCount: 20 })
      await project.writer.commit(events.slice(10))
      expect(await sealer.seal()).toMatchObject({ eventCount: 30 })
      await finish(sealer, project.clock)
      expect(await project.published()).toEqual(asPublished(events))
      await expectNothingLoose(project)
    })

  test('that was not applied is tried again', async () => {
    const project = await openSealedProject(stores)
    const sealer = project.sealerOn(losing(1, false))
    const events = someEvents(40)
    await project.writer.commit(events.slice(0, 20))
    await sealer.seal()
    await project.writer.commit(events.slice(10))
    expect(await sealer.seal()).toBeNull()
    expect(await sealer.seal()).toMatchObject({ eventCount: 30 })
    await finish(sealer, project.clock)
    expect(await project.published()).toEqual(asPublished(events))
    await expectNothingLoose(project)
  })

  test.each(['sealing', 'merging'])('of %s that is applied late does no harm', async (what) => {
    for (const isBeforeNext of [true, false]) {
      const project = await openSealedProject(stores)
      const events = await commitAndSeal(project, 17)
      let landLate: (() => Promise<unknown>) | null = null
      let isWaiting = true
      const late = sessionAround(session, async (call, run) => {
        if (isPublishing(call)) {
          if (isWaiting) {
            isWaiting = false
            landLate = run
            throw unknown()
          }
          const result = isBeforeNext ? null : await run()
          await landLate?.()
          landLate = null
          return result ?? (await run())
        }
        return await run()
      })
      const sealer = project.sealerOn(late)
      const more = someEvents(30, { userId: 'new' })
      await project.writer.commit([...more, ...events.slice(0, 5)])
      if (what === 'sealing') expect(await sealer.seal()).toBeNull()
      else await sealer.merge(1)
      await sealer.seal()
      await finish(sealer, project.clock)
      expect(await project.published()).toEqual(asPublished([...events, ...more]))
      await project.writer.beat()
      await finish(project.sealer, project.clock)
      expect(await project.published()).toEqual(asPublished([...events, ...more]))
      await expectNothingLoose(project)
    }
  })
})
