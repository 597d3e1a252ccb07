import { describe, expect, test } from 'vitest'
import { bucketOf } from '../../src/event/bucket.ts'
import { DAY_MS, dayOf } from '../../src/event/day.ts'
import type { Event } from '../../src/event/event.ts'
import { openStores } from '../../src/store/stores.ts'
import { asMigrationRole, openTestKeyspace } from '../support/keyspace.ts'
import { writeRows } from '../support/rows.ts'
import {
  asPublished,
  openSealedProject,
  openTestSealer,
  openTestWriter,
  someEvents,
} from '../support/sealing.ts'

// What has a TTL ends. Where sealing was left off for longer than blocks are kept, the rows are there, and
// the blocks of some are not.

const { keyspace, stores, session } = await openTestKeyspace()

type SealedProject = Awaited<ReturnType<typeof openSealedProject>>

async function writeRaw(projectId: string, events: readonly Event[]): Promise<void> {
  await writeRows(session, stores.events, { projectId }, events)
  const bucketDays = events.map(({ userId, eventTimeMs }) => ({
    bucket: bucketOf(userId),
    day: dayOf(eventTimeMs),
  }))
  await stores.eventBuckets.add(projectId, bucketDays)
}

/** A project of which some events are sealed, and then two weeks pass in which others expire unsealed. */
async function leftOff() {
  const project = await openSealedProject(stores)
  const { projectId, writer, clock, sealer } = project
  const [sealed, expired] = [someEvents(40), someEvents(40, { eventName: 'expired' })]
  await writer.commit(sealed)
  await writeRaw(projectId, sealed)
  await writer.beat()
  await sealer.seal()
  await writer.commit(expired)
  await writeRaw(projectId, expired)
  await writer.beat()
  clock.pass(15 * DAY_MS)
  await expire(project, writer.writer, 0)
  return { ...project, sealed, expired, events: [...sealed, ...expired] }
}

async function expire({ projectId }: SealedProject, writer: string, page: number): Promise<void> {
  await asMigrationRole(
    keyspace,
    `DELETE FROM arrivals WHERE project = '${projectId}' AND writer = ${writer} AND page = ${page}`,
  )
}

async function sealTwice({ clock, sealerOn }: SealedProject): Promise<void> {
  const sealer = sealerOn()
  await sealer.seal()
  clock.pass(31_000)
  await sealer.seal()
  await sealer.seal()
}

describe('commits that expired unsealed are sealed from the raw rows', () => {
  test('of a writer that died', async () => {
    const project = await leftOff()
    await sealTwice(project)
    expect(await project.published()).toEqual(asPublished(project.events))
    await sealTwice(project)
    expect(await project.published()).toEqual(asPublished(project.events))
  })

  test('of a writer that died, when another one commits before it is found silent', async () => {
    const project = await leftOff()
    const next = openTestWriter(stores, project.projectId)
    const more = someEvents(10)
    await next.announce()
    await next.commit(more)
    await next.beat()
    await sealTwice(project)
    expect(await project.published()).toEqual(asPublished([...project.events, ...more]))
  })

  test('of a writer that lives on', async () => {
    const project = await leftOff()
    const { writer, clock, sealerOn } = project
    const more = someEvents(10)
    await writer.commit(more)
    await writer.beat()
    const sealer = sealerOn()
    await sealer.seal()
    for (let pass = 0; pass < 3; pass++) {
      clock.pass(20_000)
      await writer.beat()
      await sealer.seal()
    }
    await sealTwice(project)
    expect(await project.published()).toEqual(asPublished([...project.events, ...more]))
  })
})

describe('a project goes on after its segments have expired', () => {
  test('of level 0, which were too few to be merged', async () => {
    const project = await openSealedProject(stores, 5)
    const { writer, clock, sealer, sealerOn } = project
    await writer.commit(someEvents(10, { userId: 'old' }))
    await writer.beat()
    // Sealed so late that it counts as gone at once.
    clock.pass(8 * DAY_MS)
    await sealer.seal()
    // A user first seen in it goes on.
    const kept = someEvents(10, { userId: 'old', eventTimeMs: clock.nowMs() })
    await writer.commit(kept)
    await writer.beat()
    await sealer.seal()
    // Of the same bucket: it would get the same number, if that were free.
    const userId = String(bucketOf('old'))
    const fresh = someEvents(10, { userId, eventTimeMs: clock.nowMs() })
    await writer.commit(fresh)
    await writer.beat()
    const other = sealerOn()
    await other.seal()
    await other.merge(Infinity)
    expect(await project.published()).toEqual(asPublished([...kept, ...fresh]))
  })

  test('before the retention was lengthened', async () => {
    const project = await openSealedProject(stores, 5)
    const { projectId, writer, clock, sealer, root } = project
    const day = dayOf(clock.nowMs())
    const at = { eventTimeMs: day * DAY_MS }
    // The last seconds of the last day on which these segments count.
    clock.turn((day + 6) * DAY_MS - 5_000 - clock.nowMs())
    for (let pass = 0; pass < 16; pass++) {
      await writer.commit(someEvents(5, { ...at, userId: `of ${pass}` }))
      await sealer.seal()
    }
    await sealer.merge(Infinity)
    const [page] = Object.values((await root()).pages)
    const [merged] = await stores.snapshots.page(projectId, page!)
    // As its TTL does, a day later.
    clock.pass(DAY_MS + 5_000)
    await stores.objects.delete({ projectId, object: merged!.segment })
    const lengthened = openTestSealer(openStores(session), projectId, clock)
    const more = someEvents(5, { ...at, userId: 'late' })
    await writer.commit(more)
    await writer.beat()
    await lengthened.seal()
    await lengthened.merge(Infinity)
    expect(await project.published()).toEqual(asPublished(more))
  })
})
