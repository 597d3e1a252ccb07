import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { eventNamesOf, PLAIN, PLAIN_STEP, type FunnelSpec } from '../../src/analysis/funnel-spec.ts'
import { declareFunnel } from '../../src/analysis/funnel.ts'
import { neededProperties } from '../../src/query/funnel-read.ts'
import { bucketOf } from '../../src/event/bucket.ts'
import { DAY_MS, dayOf } from '../../src/event/day.ts'
import type { Event } from '../../src/event/event.ts'
import { openFoldPool } from '../../src/query/fold-pool.ts'
import { openRawEvents } from '../../src/query/raw-events.ts'
import { openSegments } from '../../src/query/segments.ts'
import { encodeRoot } from '../../src/segment/root.ts'
import { anEvent } from '../support/an-event.ts'
import { foldFunnel } from '../support/fold-funnel.ts'
import { byValue } from '../support/funnel-oracle.ts'
import { openTestKeyspace, silentLog } from '../support/keyspace.ts'
import { writeRows } from '../support/rows.ts'
import { openTestClock, openTestSealer, openTestWriter } from '../support/sealing.ts'

const { stores, session, keyspace, onWarning } = await openTestKeyspace()
const { contactPoints, localDataCenter, service: credentials } = inject('database')
const pool = openFoldPool({
  threadCount: 2,
  start: {
    database: { contactPoints, localDataCenter, credentials, keyspace },
    logLevel: 'silent',
  },
  onWarning,
  log: silentLog,
})
afterAll(() => pool.close(AbortSignal.timeout(20_000)))
await pool.hasBegun

const MEGABYTE = 1_048_576
const START_MS = (Math.floor(Date.now() / DAY_MS) - 5) * DAY_MS

const spec: FunnelSpec = {
  ...PLAIN,
  steps: ['view', 'cart', 'buy'].map((eventName, step) => ({
    ...PLAIN_STEP,
    matchers: [
      { eventName, where: step === 1 ? [{ property: 'n', op: 'gte' as const, value: 3 }] : [] },
    ],
  })),
  windowMs: 6 * 3_600_000,
  entryStartMs: START_MS,
  entryEndMs: START_MS + 3 * DAY_MS,
  lastEndMs: Infinity,
  breakdown: { property: 'plan', attribution: 'first', step: 0, limit: 10 },
}

/** Events of users whose numbers are far apart, so that they lie in several fold groups. */
function someEvents(count: number, seed: number): Event[] {
  let state = seed
  const random = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  return Array.from({ length: count }, () =>
    anEvent({
      userId: String(random(300) * 1_000 + random(3)),
      eventName: ['view', 'cart', 'buy'][random(3)]!,
      eventTimeMs: START_MS + random(3) * DAY_MS + random(500) * 100_000,
      properties: JSON.stringify({
        ...{ n: random(7), plan: ['a', 'b', 'c'][random(3)] },
        org: [undefined, null, 1, '1', random(3_000), `${random(3_000)}`, `o${random(3_000)}`][
          random(7)
        ],
      }),
    }),
  )
}

function expectedOf(events: readonly Event[], countBy: string | null = null) {
  const all = events.map(({ userId, eventName, eventTimeMs, properties }) => ({
    ...{ user: userId, event: eventName, timeMs: eventTimeMs },
    properties: JSON.parse(properties) as Record<string, string | number>,
  }))
  const counts = foldFunnel(spec, countBy === null ? all : byValue(all, countBy))
  return declareFunnel(spec).result(counts)
}

const readOf = (projectId: string, countBy: string | null) => ({
  projectId,
  range: { startMs: START_MS, endMs: START_MS + 4 * DAY_MS },
  ...{ eventNames: eventNamesOf(spec), history: null, sample: 1 },
  ...neededProperties(spec, countBy),
  nowMs: Date.now(),
  signal: new AbortController().signal,
})

async function ask(
  projectId: string,
  memoryBytesMax: number,
  {
    cacheBytesMax = 0,
    eventsMax = 1_000_000,
    countBy = null as string | null,
    signal = new AbortController().signal,
  } = {},
) {
  const segments = openSegments({
    ...{ snapshots: stores.snapshots, pool, cacheBytesMax, memoryBytesMax },
    eventsMax,
  })
  const { root } = await stores.snapshots.root(projectId)
  const read = { ...readOf(projectId, countBy), signal }
  const funnel = declareFunnel(spec)
  const plan = await segments.plan(root!, read)
  const question = { analysis: 'funnel', spec } as const
  const fold = async () => {
    const { counts, amounts } = await segments.fold(read, plan, { funnel, question })
    return { result: funnel.result(counts), amounts }
  }
  return { plan, fold, ...(await fold()) }
}

async function aProject() {
  const projectId = randomUUID()
  const writer = openTestWriter(stores, projectId)
  await writer.announce()
  await writer.beat()
  const sealer = openTestSealer(stores, projectId, openTestClock())
  return {
    projectId,
    async seal(events: readonly Event[], blocks: number): Promise<void> {
      const size = Math.ceil(events.length / blocks)
      for (let start = 0; start < events.length; start += size) {
        const part = events.slice(start, start + size)
        for (let at = 0; at < part.length; at += 500) await writer.commit(part.slice(at, at + 500))
        await sealer.seal()
      }
      await sealer.merge(Infinity)
    },
  }
}

describe('a fold over segments', () => {
  test('is the fold over the events, read at once or by fold groups, cold or from the cache', async () => {
    const project = await aProject()
    const events = someEvents(50_000, 1)
    await project.seal(events.slice(0, 48_000), 16)
    await project.seal(events.slice(48_000), 2)
    const expected = expectedOf(events)
    const whole = await ask(project.projectId, 64 * MEGABYTE, { cacheBytesMax: 64 * MEGABYTE })
    expect(whole.plan.alone.length).toBeGreaterThan(5)
    expect(whole.plan.shared.length).toBeGreaterThan(2)
    expect(whole.result).toEqual(expected)
    expect(whole.amounts).toMatchObject({ cacheHitBytes: 0, events: 50_000 })
    const warm = await whole.fold()
    expect(warm.result).toEqual(expected)
    expect(warm.amounts).toMatchObject({ bytes: 0, partitions: 0 })
    const split = await ask(project.projectId, 200_000)
    expect(split.plan.units.length).toBeGreaterThan(2)
    expect(split.result).toEqual(expected)
  })

  test('is the same while some days are placed for fewer read groups', async () => {
    const project = await aProject()
    const events = someEvents(40_000, 2)
    await project.seal(events.slice(0, 30_000), 16)
    for (const [from, to, groups] of [
      [30_000, 36_000, 5],
      [36_000, 40_000, 25],
    ] as const) {
      await grow(project.projectId, groups)
      await (
        await reopened(project.projectId)
      )(events.slice(from, to))
      const { plan, result } = await ask(project.projectId, 64 * MEGABYTE)
      expect(plan.readGroupCount).toBe(1)
      expect(result).toEqual(expectedOf(events.slice(0, to)))
    }
  })
})

describe('a fold by the values of a property', () => {
  const countBy = 'org'

  test('is the fold over the events by value, in one pass or in many, cold or from the cache', async () => {
    const project = await aProject()
    const events = someEvents(50_000, 3)
    await project.seal(events.slice(0, 48_000), 16)
    await project.seal(events.slice(48_000), 2)
    const expected = expectedOf(events, countBy)
    const cached = { cacheBytesMax: 64 * MEGABYTE, countBy }
    const whole = await ask(project.projectId, 64 * MEGABYTE, cached)
    expect(whole.plan.alone.length).toBeGreaterThan(5)
    expect(whole.plan.shared.length).toBeGreaterThan(2)
    expect(whole.plan).toMatchObject({ rowCount: 50_000, values: { classCount: 1 } })
    expect(whole.result).toEqual(expected)
    expect(whole.amounts).toMatchObject({ cacheHitBytes: 0, events: 50_000 })
    const warm = await whole.fold()
    expect(warm.result).toEqual(expected)
    expect(warm.amounts).toMatchObject({ bytes: 0, partitions: 0 })

    const split = await ask(project.projectId, 200_000, { countBy })
    const { classCount } = split.plan.values!
    expect(classCount).toBeGreaterThan(2)
    expect(split.plan.rowCount).toBe(classCount * 50_000)
    expect(split.result).toEqual(expected)
    // Their values are too many for that memory: classes were split.
    expect(split.amounts.events).toBeGreaterThan(split.plan.rowCount)
    const least = { countBy, eventsMax: split.plan.rowCount }
    await expect(ask(project.projectId, 200_000, least)).rejects.toThrow(/would read/)
    const tooFew = { countBy, eventsMax: split.plan.rowCount - 1 }
    await expect(ask(project.projectId, 200_000, tooFew)).rejects.toThrow(
      `this would read ${split.plan.rowCount} events`,
    )
  })

  test('is the same of any read groups, and of raw rows', async () => {
    const project = await aProject()
    const events = someEvents(9_000, 4)
    await project.seal(events.slice(0, 5_000), 8)
    for (const [from, to, groups] of [
      [5_000, 7_000, 5],
      [7_000, 9_000, 25],
    ] as const) {
      await grow(project.projectId, groups)
      await (
        await reopened(project.projectId)
      )(events.slice(from, to))
    }
    const expected = expectedOf(events, countBy)
    for (const memoryBytes of [64 * MEGABYTE, 100_000]) {
      const { result } = await ask(project.projectId, memoryBytes, { countBy })
      expect(result).toEqual(expected)
    }
    await writeRows(session, stores.events, project, events)
    const bucketDays = events.map(({ userId, eventTimeMs }) => ({
      ...{ bucket: bucketOf(userId), day: dayOf(eventTimeMs) },
    }))
    await stores.eventBuckets.add(project.projectId, bucketDays)
    expect(await fromRows(project.projectId, 9_000)).toEqual(expected)
    await expect(fromRows(project.projectId, 8_999)).rejects.toThrow('at most 8999 events')
  })

  test('ends soon when it is given up', async () => {
    const project = await aProject()
    await project.seal(someEvents(5_000, 6), 4)
    const given = new AbortController()
    const { fold } = await ask(project.projectId, 50_000, { countBy, signal: given.signal })
    const folding = fold()
    given.abort()
    await expect(folding).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  test('is zeros where no event has the property', async () => {
    const project = await aProject()
    await project.seal(someEvents(500, 5), 1)
    const { result, plan, amounts } = await ask(project.projectId, MEGABYTE, { countBy: 'absent' })
    expect(result).toEqual(expectedOf([]))
    expect([plan.rowCount, amounts.events, amounts.partitions]).toEqual([0, 0, 0])
  })
})

/** Counts values from the raw rows. */
async function fromRows(projectId: string, valueEventsMax: number) {
  const limits = { readsInFlightMax: 8, partitionsMax: 10_000, valueEventsMax }
  const rawEvents = openRawEvents({ ...stores, ...limits })
  const funnel = declareFunnel(spec)
  const read = readOf(projectId, 'org')
  let counts = funnel.empty()
  await rawEvents.forAllBuckets(read, await rawEvents.plan(read), ({ days, userCount }) => {
    const group = funnel.openGroup(userCount)
    for (const day of days) group.fold(day)
    counts = funnel.merge(counts, group.close())
  })
  return funnel.result(counts)
}

/** Publishes that a project has so many read groups from now on. */
async function grow(projectId: string, readGroupCount: number): Promise<void> {
  const { version, root } = await stores.snapshots.root(projectId)
  const grown = encodeRoot({ ...root!, publication: randomUUID(), readGroupCount })
  expect(await stores.roots.publish(projectId, version, grown)).toBe(true)
}

/** Another writer and sealer of the same project, which merge nothing. */
async function reopened(projectId: string) {
  const writer = openTestWriter(stores, projectId)
  await writer.announce()
  await writer.beat()
  const sealer = openTestSealer(stores, projectId, openTestClock())
  return async (events: readonly Event[]) => {
    for (let at = 0; at < events.length; at += 500) await writer.commit(events.slice(at, at + 500))
    await sealer.seal()
  }
}
