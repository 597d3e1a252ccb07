import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, inject, test } from 'vitest'
import {
  declareFunnel,
  eventNamesOf,
  propertiesOf,
  type FunnelSpec,
} from '../../src/analysis/funnel.ts'
import { DAY_MS } from '../../src/event/day.ts'
import type { Event } from '../../src/event/event.ts'
import { openFoldPool } from '../../src/query/fold-pool.ts'
import { openSegments } from '../../src/query/segments.ts'
import { encodeRoot } from '../../src/segment/root.ts'
import { anEvent } from '../support/an-event.ts'
import { foldFunnel } from '../support/funnel-oracle.ts'
import { openTestKeyspace, silentLog } from '../support/keyspace.ts'
import { openTestClock, openTestSealer, openTestWriter } from '../support/sealing.ts'

const { stores, keyspace, onWarning } = await openTestKeyspace()
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
  steps: ['view', 'cart', 'buy'].map((eventName, step) => ({
    matchers: [
      { eventName, where: step === 1 ? [{ property: 'n', op: 'gte' as const, value: 3 }] : [] },
    ],
  })),
  windowMs: 6 * 3_600_000,
  entryStartMs: START_MS,
  entryEndMs: START_MS + 3 * DAY_MS,
  lastEndMs: Infinity,
  breakdown: { property: 'plan', limit: 10 },
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
      properties: JSON.stringify({ n: random(7), plan: ['a', 'b', 'c'][random(3)] }),
    }),
  )
}

function expectedOf(events: readonly Event[]) {
  const counts = foldFunnel(
    spec,
    events.map(({ userId, eventName, eventTimeMs, properties }) => ({
      ...{ user: userId, event: eventName, timeMs: eventTimeMs },
      properties: JSON.parse(properties) as Record<string, string | number>,
    })),
  )
  return declareFunnel(spec).result(counts)
}

async function ask(projectId: string, memoryBytesMax: number, cacheBytesMax = 0) {
  const segments = openSegments({
    ...{ snapshots: stores.snapshots, pool, cacheBytesMax, memoryBytesMax },
    eventsMax: 1_000_000,
  })
  const { root } = await stores.snapshots.root(projectId)
  const read = {
    projectId,
    range: { startMs: START_MS, endMs: START_MS + 4 * DAY_MS },
    ...{ eventNames: eventNamesOf(spec), properties: propertiesOf(spec), countBy: null },
    nowMs: Date.now(),
    signal: new AbortController().signal,
  }
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
    const whole = await ask(project.projectId, 64 * MEGABYTE, 64 * MEGABYTE)
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
      const { version, root } = await stores.snapshots.root(project.projectId)
      const grown = encodeRoot({ ...root!, publication: randomUUID(), readGroupCount: groups })
      expect(await stores.roots.publish(project.projectId, version, grown)).toBe(true)
      await (
        await reopened(project.projectId)
      )(events.slice(from, to))
      const { plan, result } = await ask(project.projectId, 64 * MEGABYTE)
      expect(plan.readGroupCount).toBe(1)
      expect(result).toEqual(expectedOf(events.slice(0, to)))
    }
  })
})

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
