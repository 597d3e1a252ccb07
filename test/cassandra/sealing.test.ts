import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../src/event/day.ts'
import { anEvent } from '../support/an-event.ts'
import { openTestKeyspace } from '../support/keyspace.ts'
import {
  asPublished,
  openTestClock,
  openTestSealer,
  openTestWriter,
  publishedEvents,
} from '../support/sealing.ts'

const { stores } = await openTestKeyspace()

async function aProject() {
  const projectId = randomUUID()
  const writer = openTestWriter(stores, projectId)
  await writer.announce()
  await writer.beat()
  const clock = openTestClock()
  const sealer = openTestSealer(stores, projectId, clock)
  const published = async () => asPublished(await publishedEvents(stores, projectId))
  return { projectId, writer, clock, sealer, published }
}

function someEvents(count: number, part: Parameters<typeof anEvent>[0] = {}) {
  return Array.from({ length: count }, (_, index) =>
    anEvent({ userId: String(index % 37), properties: `{"n":${index % 7}}`, ...part }),
  )
}

describe('a pass', () => {
  test('publishes what was taken in, once', async () => {
    const { writer, sealer, published } = await aProject()
    const events = [
      ...someEvents(50),
      anEvent({
        userId: 'é 😀',
        eventName: 'buy',
        properties: '{"a":{"b":true,"c":[1]},"d":null}',
      }),
    ]
    await writer.commit(events)
    await writer.commit(events.slice(3, 9))
    const outcome = await sealer.seal()
    expect(outcome).toMatchObject({ isDrained: true, eventCount: 57 })
    const expected = [...events.slice(0, 50), { ...events[50]!, properties: '{"a.b":true}' }]
    expect(await published()).toEqual(asPublished(expected))
    await writer.commit(events)
    await sealer.seal()
    expect(await published()).toEqual(asPublished(expected))
  })

  test('takes what a gap let past, and the gap when it is filled', async () => {
    const { projectId, writer, sealer, published } = await aProject()
    const [a, b, c] = [someEvents(3), someEvents(3), someEvents(3)]
    const [first, gap, last] = [writer.take(), writer.take(), writer.take()]
    await writer.append(first, a)
    await writer.append(last, c)
    await sealer.seal()
    expect(await published()).toEqual(asPublished([...a, ...c]))
    const { root } = await stores.snapshots.root(projectId)
    expect(root!.writers[writer.writer]).toMatchObject({ through: 2, gaps: [1] })
    await writer.append(gap, b)
    await sealer.seal()
    expect(await published()).toEqual(asPublished([...a, ...b, ...c]))
  })
})

describe('merging', () => {
  test('changes no event, and drops copies that come later', async () => {
    const { writer, sealer, published, projectId } = await aProject()
    const now = Date.now()
    const events = [
      ...someEvents(6_000, { eventTimeMs: now }),
      ...someEvents(6_000, { eventTimeMs: now - 40 * DAY_MS, eventName: 'old' }),
      ...someEvents(400, { eventTimeMs: now - 3 * DAY_MS, eventName: 'few' }),
    ]
    for (let start = 0; start < events.length; start += 600) {
      await writer.commit(events.slice(start, start + 600))
      await sealer.seal()
    }
    await sealer.merge(Infinity)
    const { root } = await stores.snapshots.root(projectId)
    expect(root!.fresh.length).toBeLessThan(16)
    expect(await published()).toEqual(asPublished(events))
    for (let start = 0; start < events.length; start += 500) {
      await writer.commit(events.slice(start, start + 500))
      await sealer.seal()
    }
    expect(await published()).toEqual(asPublished(events))
    // A sealer that knows nothing yet reads it all back.
    const other = openTestSealer(stores, projectId, openTestClock())
    await writer.commit([...events.slice(0, 700), ...someEvents(5, { userId: 'new' })])
    expect(await other.seal()).toMatchObject({ eventCount: 705 })
    expect(await published()).toHaveLength(events.length + 5)
  })

  test('leaves nothing behind when it is swept', async () => {
    const { writer, sealer, published, projectId, clock } = await aProject()
    const events = someEvents(200)
    for (let start = 0; start < 200; start += 10) {
      await writer.commit(events.slice(start, start + 10))
      await sealer.seal()
    }
    await sealer.merge(Infinity)
    const { root } = await stores.snapshots.root(projectId)
    expect(await sealer.sweep()).toBe(0)
    clock.pass(3 * HOUR_MS)
    expect(await sealer.sweep()).toBeGreaterThanOrEqual(16)
    expect(await published()).toEqual(asPublished(events))
    expect((await stores.snapshots.root(projectId)).root).toMatchObject({ fresh: root!.fresh })
  })
})
