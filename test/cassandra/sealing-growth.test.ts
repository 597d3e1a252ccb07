import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../src/event/day.ts'
import type { Event } from '../../src/event/event.ts'
import type { SegmentRef } from '../../src/segment/directory.ts'
import { encodeRoot } from '../../src/segment/root.ts'
import { openTestKeyspace } from '../support/keyspace.ts'
import {
  asPublished,
  finish,
  openSealedProject,
  openTestSealer,
  reachableObjects,
  someEvents,
  storedObjects,
} from '../support/sealing.ts'

const { stores } = await openTestKeyspace()

type SealedProject = Awaited<ReturnType<typeof openSealedProject>>

async function mergedRefs({ root, projectId }: SealedProject): Promise<SegmentRef[]> {
  const ids = Object.values((await root()).pages)
  const pages = await Promise.all(ids.map((page) => stores.snapshots.page(projectId, page)))
  return pages.flat()
}

async function commitAndSeal(
  { writer, sealer }: SealedProject,
  events: readonly Event[],
  passes = 16,
): Promise<void> {
  const size = Math.ceil(events.length / passes)
  for (let start = 0; start < events.length; start += size) {
    await writer.commit(events.slice(start, start + size))
    await writer.beat()
    await sealer.seal()
  }
}

test('segments that were placed for fewer read groups are rewritten, and no event changes', async () => {
  const project = await openSealedProject(stores)
  const { projectId, sealer, sealerOn, writer, clock } = project
  const users = (index: number) => ({ userId: String(index * 7) })
  const events = Array.from({ length: 5_600 }, (_, index) => someEvents(1, users(index))[0]!)
  const few = someEvents(160, { eventName: 'few' })
  await commitAndSeal(project, [...events, ...few])
  await sealer.merge(Infinity)
  const before = await mergedRefs(project)
  expect(before.filter(({ section }) => section !== null).length).toBe(1)
  const { version, root } = await stores.snapshots.root(projectId)
  const grown = { ...root!, readGroupCount: 5, publication: randomUUID() }
  expect(await stores.roots.publish(projectId, version, encodeRoot(grown))).toBe(true)
  await sealer.merge(Infinity)
  const after = await mergedRefs(project)
  const alone = after.filter(({ section }) => section !== null)
  // Packed ones too: a question places all rows by the fewest read groups that it meets.
  expect(after.length).toBeGreaterThan(alone.length)
  expect(new Set(after.map(({ readGroupCount }) => readGroupCount))).toEqual(new Set([5]))
  expect(alone.length).toBeGreaterThanOrEqual(5)
  const all = asPublished([...events, ...few])
  expect(await project.published()).toEqual(all)
  // Copies are told across placements.
  const more = someEvents(3, { userId: 'new' })
  for (const by of [sealer, sealerOn()]) {
    await writer.commit([...events.slice(0, 300), ...few, ...more])
    await writer.beat()
    await by.seal()
    expect(await project.published()).toEqual([...all, ...asPublished(more)].sort())
  }
  await finish(sealer, clock)
  const stored = await storedObjects(stores)
  expect(stored.get(projectId)).toEqual(await reachableObjects(stores, projectId))
})

describe('retention', () => {
  test('takes segments from the pages when their last day is past it', async () => {
    const project = await openSealedProject(stores, 30)
    const { sealer, clock } = project
    const now = clock.nowMs()
    const [old, fresh] = [
      someEvents(160, { eventTimeMs: now - 20 * DAY_MS, eventName: 'old', userId: 'old' }),
      someEvents(160, { eventTimeMs: now, userId: 'fresh' }),
    ]
    await commitAndSeal(project, old)
    await sealer.merge(Infinity)
    await commitAndSeal(project, fresh)
    await sealer.merge(Infinity)
    clock.pass(10 * DAY_MS)
    await sealer.merge(Infinity)
    expect(await project.published()).toEqual(asPublished([...old, ...fresh]))
    clock.pass(DAY_MS)
    await finish(sealer, clock)
    expect(await project.published()).toEqual(asPublished(fresh))
    const stored = await storedObjects(stores)
    expect(stored.get(project.projectId)).toEqual(await reachableObjects(stores, project.projectId))
  })

  test('that was shortened leaves no segment that nothing leads to', async () => {
    const project = await openSealedProject(stores, 400)
    const { sealer, clock, projectId } = project
    const monthStart = new Date(clock.nowMs()).setUTCDate(1)
    clock.turn(monthStart + 20 * DAY_MS - clock.nowMs())
    const at = (day: number) => ({ eventTimeMs: monthStart + day * DAY_MS })
    await commitAndSeal(project, someEvents(160, { ...at(0), eventName: 'old' }))
    await sealer.merge(Infinity)
    // Swept, so that no note of what was written is left.
    clock.pass(3 * HOUR_MS)
    await sealer.sweep()
    const fresh = someEvents(160, at(19))
    await commitAndSeal(project, fresh)
    // Sealed by a process that knows the new retention.
    const knowing = openTestSealer(stores, projectId, clock, 10)
    await finish(knowing, clock)
    expect(await project.published()).toEqual(asPublished(fresh))
    const stored = await storedObjects(stores)
    expect(stored.get(projectId)).toEqual(await reachableObjects(stores, projectId))
  })
})
