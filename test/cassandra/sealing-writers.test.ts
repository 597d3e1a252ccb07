import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { AppError } from '../../src/error.ts'
import { bucketOf } from '../../src/event/bucket.ts'
import { DAY_MS, dayOf, monthOf } from '../../src/event/day.ts'
import type { Event } from '../../src/event/event.ts'
import { openGroupCommit } from '../../src/ingest/group-commit.ts'
import { openWriter } from '../../src/ingest/writer.ts'
import { declareMetrics } from '../../src/metrics.ts'
import { openSealer } from '../../src/seal/sealer.ts'
import { SEQUENCES_PER_PAGE } from '../../src/store/arrivals.ts'
import { openRowWriter } from '../../src/store/row-writer.ts'
import type { Session } from '../../src/store/session.ts'
import { openStores } from '../../src/store/stores.ts'
import { ALL_PROJECTS } from '../../src/store/writers.ts'
import { sessionAround, type Call } from '../support/faulty-session.ts'
import { openTestKeyspace, silentLog } from '../support/keyspace.ts'
import { collect } from '../support/rows.ts'
import {
  asPublished,
  openSealedProject,
  openTestClock,
  openTestWriter,
  publishedEvents,
  someEvents,
} from '../support/sealing.ts'

const { stores, session } = await openTestKeyspace()
const metrics = declareMetrics({ isThread: true })
const rowWriter = openRowWriter({ ...stores, metrics, batchesInFlightMax: 4 })

const isBeat = ({ statement: { table, operation } }: Call) =>
  table === 'writer_heads' && operation === 'beat'

async function rawIds(projectId: string, events: readonly Event[]): Promise<string[]> {
  const keys = new Map(
    events.map(({ userId, eventTimeMs }) => {
      const key = { bucket: bucketOf(userId), day: dayOf(eventTimeMs) }
      return [`${key.bucket} ${key.day}`, key]
    }),
  )
  const pages = await Promise.all(
    [...keys.values()].map((key) =>
      collect(stores.events.scan({ projectId, ...key, withProperties: false })),
    ),
  )
  return pages.flat(2).map(({ eventId }) => eventId.replaceAll('-', ''))
}

async function timelineIds(projectId: string, events: readonly Event[]): Promise<string[]> {
  const users = new Map(events.map(({ userId, eventTimeMs }) => [userId, monthOf(eventTimeMs)]))
  const before = { eventTimeMs: Date.now() + DAY_MS, eventId: randomUUID() }
  const reads = [...users].map(([userId, month]) =>
    stores.userTimeline.newest({
      ...{ projectId, userId, month, startMs: 0, before, rowsMax: 1_000 },
    }),
  )
  return (await Promise.all(reads)).flat().map(({ eventId }) => eventId.replaceAll('-', ''))
}

const idsOf = (events: readonly Event[]) =>
  events.map(({ eventId }) => eventId.toString('hex')).sort()

describe('a writer that died', () => {
  test('has its gap voided after 30 seconds of silence, and not before', async () => {
    const { writer, sealer, clock, root, published } = await openSealedProject(stores)
    const [a, b, c] = [someEvents(3), someEvents(3), someEvents(3)]
    await writer.commit(a)
    const gap = writer.take()
    await writer.commit(c)
    await writer.beat(0)
    await sealer.seal()
    clock.turn(DAY_MS)
    clock.pass(29_999)
    await sealer.seal()
    expect((await root()).writers[writer.writer]).toMatchObject({ gaps: [gap], isClosed: false })
    await writer.append(gap, b)
    clock.pass(1)
    await sealer.seal()
    expect((await root()).writers[writer.writer]).toMatchObject({ gaps: [], isClosed: true })
    // The last look takes what came in time.
    expect(await published()).toEqual(asPublished([...a, ...b, ...c]))
  })

  test('is not taken for dead as long as it beats', async () => {
    const { writer, sealer, clock, root } = await openSealedProject(stores)
    for (let beat = 0; beat < 4; beat++) {
      writer.take()
      await writer.commit(someEvents(1))
      await writer.beat(-1)
      await sealer.seal()
      clock.pass(29_000)
      await sealer.seal()
    }
    expect((await root()).writers[writer.writer]).toMatchObject({
      gaps: [0, 2, 4, 6],
      isClosed: false,
    })
  })

  test('is not taken for dead by a sealer that was held up while it looked', async () => {
    const project = await openSealedProject(stores)
    const { writer, clock, published } = project
    let isHeldUp = false
    const heldUp = sessionAround(session, async (call, run) => {
      const result = await run()
      const { table, operation } = call.statement
      // The process stands still between the answer and the judgement; the writer goes on meanwhile.
      if (isHeldUp && table === 'writer_heads' && operation === 'read') {
        isHeldUp = false
        clock.pass(31_000)
        await writer.beat()
      }
      return result
    })
    const sealer = project.sealerOn(heldUp)
    const [a, b, c] = [someEvents(3), someEvents(3), someEvents(3)]
    await writer.commit(a)
    const gap = writer.take()
    await writer.commit(c)
    await writer.beat(0)
    await sealer.seal()
    isHeldUp = true
    await sealer.seal()
    await writer.append(gap, b)
    await writer.beat()
    await sealer.seal()
    expect(await published()).toEqual(asPublished([...a, ...b, ...c]))
  })

  test('after its blocks and before its rows gets them from its sealer', async () => {
    const { writer, sealer, clock, projectId, published } = await openSealedProject(stores)
    const events = someEvents(60)
    await writer.commit(events.slice(0, 20))
    await rowWriter.write(
      { projectId, retentionDays: 400 },
      events.slice(0, 20),
      AbortSignal.timeout(9_000),
    )
    await writer.commit(events.slice(20, 40))
    writer.take()
    await writer.commit(events.slice(40))
    await writer.beat(0)
    await sealer.seal()
    expect((await rawIds(projectId, events)).sort()).toEqual(idsOf(events.slice(0, 20)))
    clock.pass(30_000)
    await sealer.seal()
    expect((await rawIds(projectId, events)).sort()).toEqual(idsOf(events))
    expect((await timelineIds(projectId, events)).sort()).toEqual(idsOf(events))
    expect(await published()).toEqual(asPublished(events))
  })

  test('has no block published that lands in its voided gap; under another writer it is, once', async () => {
    const { writer, sealer, sealerOn, clock, projectId, published } =
      await openSealedProject(stores)
    const [a, b] = [someEvents(3), someEvents(3)]
    const gap = writer.take()
    await writer.commit(a)
    await writer.beat(-1)
    await sealer.seal()
    clock.pass(30_000)
    await sealer.seal()
    await writer.append(gap, b)
    await writer.beat()
    for (const by of [sealer, sealerOn()]) {
      await by.seal()
      expect(await published()).toEqual(asPublished(a))
    }
    const next = openTestWriter(stores, projectId)
    await next.announce()
    await next.commit(b)
    await next.commit(b)
    await next.beat()
    for (const by of [sealer, sealerOn()]) {
      await by.seal()
      expect(await published()).toEqual(asPublished([...a, ...b]))
    }
  })
})

describe('a pass', () => {
  test('sees a commit of the next page while one before it is on its way', async () => {
    const { writer, sealer, published } = await openSealedProject(stores)
    const [a, b, c] = [someEvents(3), someEvents(3), someEvents(3)]
    while (writer.take() < SEQUENCES_PER_PAGE - 3);
    await writer.commit(a)
    await writer.beat()
    const late = writer.take()
    expect(late).toBe(SEQUENCES_PER_PAGE - 1)
    await writer.commit(c)
    expect(await sealer.seal()).toMatchObject({ isDrained: true })
    expect(await published()).toEqual(asPublished([...a, ...c]))
    await writer.append(late, b)
    await sealer.seal()
    expect(await published()).toEqual(asPublished([...a, ...b, ...c]))
  })
})

describe('the sealer of all projects', () => {
  test.each(['died before its first heartbeat told of it', 'tells of it no more'])(
    'finds a project whose writer %s',
    async (what) => {
      const { projectId, writer, published } = await openSealedProject(stores)
      await stores.projects.write({
        ...{ projectId, name: 'a', timeZone: 'UTC', retentionDays: 400, weekStart: 1 },
        createdAtMs: Date.now(),
      })
      await stores.writers.announce(ALL_PROJECTS, writer.writer, Date.now())
      let beat = 1
      const beatWithoutIt = () =>
        stores.writerHeads.write(writer.writer, {
          ...{ beat: beat++, beatAtMs: Date.now(), projects: new Map() },
        })
      await beatWithoutIt()
      const events = someEvents(10)
      await writer.commit(events)
      const clock = openTestClock()
      const sealer = openSealer({ stores, rows: rowWriter, clock, metrics, log: silentLog })
      sealer.start()
      try {
        await vi.waitFor(
          async () => {
            clock.pass(31_000)
            if (what === 'tells of it no more') await beatWithoutIt()
            expect(await published()).toEqual(asPublished(events))
          },
          { timeout: 5_000, interval: 600 },
        )
      } finally {
        await sealer.close()
      }
    },
  )
})

describe('ingest', () => {
  /** Ingest's own writer, on a session that tells which writers beat, and can refuse it. */
  function openIngestWriter(faults: { isRefused: boolean; onAppend?: () => void }) {
    const beats: string[] = []
    const clock = openTestClock()
    const on: Session = sessionAround(session, async (call, run) => {
      if (isBeat(call)) {
        if (faults.isRefused) throw new AppError('OVERLOADED', 'refused')
        beats.push(String(call.values[0]))
      }
      if (call.statement.table === 'arrivals') {
        faults.onAppend?.()
        delete faults.onAppend
      }
      return await run()
    })
    const onStores = openStores(on)
    const writer = openWriter({ ...onStores, clock, metrics, log: silentLog })
    afterAll(() => writer.close(AbortSignal.abort()))
    const limits = {
      lingerMs: 1,
      commitsInFlightMax: 4,
      pendingEventsMax: 1e5,
      pendingBytesMax: 1e8,
    }
    const groupCommit = openGroupCommit({
      storage: { writer, arrivals: onStores.arrivals, rows: rowWriter },
      ...{ limits, metrics, log: silentLog, monotonicMs: () => performance.now() },
    })
    return { writer, beats, clock, groupCommit }
  }

  async function expectOnlyBeats(beats: string[], writer: string): Promise<void> {
    beats.length = 0
    await vi.waitFor(() => expect(beats.length).toBeGreaterThanOrEqual(2), { timeout: 10_000 })
    expect(new Set(beats)).toEqual(new Set([writer]))
  }

  test('goes on under a new writer when its heartbeats failed for 10 seconds', async () => {
    const faults = { isRefused: false }
    const { writer, beats, clock } = openIngestWriter(faults)
    const projectId = randomUUID()
    const old = await writer.take(projectId)
    faults.isRefused = true
    clock.pass(9_999)
    expect(old.isLive()).toBe(true)
    clock.pass(1)
    expect(old.isLive()).toBe(false)
    await expect(writer.take(projectId)).rejects.toMatchObject({ code: 'OVERLOADED' })
    faults.isRefused = false
    const next = await writer.take(projectId)
    expect(next).toMatchObject({ sequence: 0 })
    expect(next.writer).not.toBe(old.writer)
    expect([next.isLive(), old.isLive()]).toEqual([true, false])
    await expectOnlyBeats(beats, next.writer)
    expect(old.isLive()).toBe(false)
  })

  test('never beats again under a writer that slept for a minute', async () => {
    const { writer, beats, clock } = openIngestWriter({ isRefused: false })
    const old = await writer.take(randomUUID())
    await expectOnlyBeats(beats, old.writer)
    beats.length = 0
    clock.pass(60_000)
    const next = await writer.take(randomUUID())
    await expectOnlyBeats(beats, next.writer)
    expect(next.writer).not.toBe(old.writer)
  })

  test('commits again what it wrote while it slept, and it is published once', async () => {
    const faults: { isRefused: boolean; onAppend?: () => void } = { isRefused: false }
    const ingest = openIngestWriter(faults)
    const { projectId, sealer, clock, published } = await openSealedProject(stores)
    const project = { projectId, retentionDays: 400 }
    const [first, second] = [someEvents(5), someEvents(5)]
    await ingest.groupCommit.add(project, first, () => Promise.resolve())
    await sealer.seal()
    clock.pass(30_000)
    // Its sealer gives the first writer up, and only then does the block go out.
    faults.onAppend = () => ingest.clock.pass(60_000)
    await ingest.groupCommit.add(project, second, () => Promise.resolve())
    const writers = await stores.writers.list(projectId)
    expect(writers.length).toBe(3)
    await sealer.seal()
    expect(await published()).toEqual(asPublished([...first, ...second]))
    expect(await publishedEvents(stores, projectId)).toHaveLength(10)
  })
})
