import { describe, expect, test } from 'vitest'
import type { UsersAsked } from '../../src/analysis/funnel-users.ts'
import { PLAIN, PLAIN_STEP, type FunnelSpec } from '../../src/analysis/funnel-spec.ts'
import { bucketOf, isSampledText, sampledBuckets } from '../../src/event/bucket.ts'
import { DAY_MS, dayOf } from '../../src/event/day.ts'
import type { Event } from '../../src/event/event.ts'
import { listRowUsers } from '../../src/query/row-users.ts'
import { openSegmentUsers } from '../../src/query/segment-users.ts'
import { openUserIds } from '../../src/query/user-ids.ts'
import { anEvent } from '../support/an-event.ts'
import {
  answerOf,
  asTestEvent,
  openAsking,
  openTestPool,
  setReadGroups,
  writeRaw,
} from '../support/asking.ts'
import { foldFunnelUsers } from '../support/fold-funnel.ts'
import { byValue } from '../support/funnel-oracle.ts'
import { openTestKeyspace } from '../support/keyspace.ts'
import { openRandom, openSealedProject } from '../support/sealing.ts'

const keyspace = await openTestKeyspace()
const { stores } = keyspace
const pool = await openTestPool(keyspace)

const START_MS = (Math.floor(Date.now() / DAY_MS) - 5) * DAY_MS
const spec: FunnelSpec = {
  ...PLAIN,
  steps: ['view', 'cart', 'buy'].map((eventName) => ({
    ...PLAIN_STEP,
    matchers: [{ eventName, where: [] }],
  })),
  windowMs: 12 * 3_600_000,
  entryStartMs: START_MS,
  entryEndMs: START_MS + 3 * DAY_MS,
  lastEndMs: Infinity,
  breakdown: { property: 'plan', attribution: 'first', step: 0, limit: 10 },
}
const dropped: UsersAsked = { spec, step: 2, outcome: 'dropped', values: null }
const BUCKETS = [...sampledBuckets(0.2)].flatMap((flag, bucket) => (flag === 1 ? [bucket] : []))
const SAMPLES = [0.003, 0.05, 0.15]

/** Events of 24,000 users of the buckets of a larger sample. */
function someEvents(count: number, seed: number): Event[] {
  const random = openRandom(seed)
  const below = (end: number) => Math.floor(random() * end)
  return Array.from({ length: count }, () =>
    anEvent({
      userId: String(below(120) * 1_000 + BUCKETS[below(200)]!),
      eventName: ['view', 'cart', 'buy'][below(3)]!,
      eventTimeMs: START_MS + below(2) * DAY_MS + below(500) * 100_000,
      properties: JSON.stringify({
        ...{ plan: ['a', 'b', null][below(3)] },
        org: [null, `org ${below(900)}`, below(900), `${below(900)}`][below(4)],
      }),
    }),
  )
}

const ofSample = (events: readonly Event[], sample: number) => {
  const flags = sampledBuckets(sample)
  return events.filter(({ userId }) => flags[bucketOf(userId)] === 1).map(asTestEvent)
}

/** Some of it merged and some not. Level 0 has one read group at first, and so many from then on. */
async function sealedProject(events: readonly Event[], readGroupCount: number) {
  const project = await openSealedProject(stores)
  const { projectId, writer, sealer } = project
  const size = Math.ceil(events.length / 18)
  for (let pass = 0; pass < 18; pass++) {
    const part = events.slice(pass * size, (pass + 1) * size)
    for (let at = 0; at < part.length; at += 500) await writer.commit(part.slice(at, at + 500))
    await writer.beat()
    await sealer.seal()
    if (pass === 0) await setReadGroups(stores, projectId, readGroupCount)
    if (pass === 15) await sealer.merge(Infinity)
  }
  return { ...project, asking: openAsking(stores, pool, projectId) }
}

describe('a sample of users', () => {
  test.each([1, 5, 25])('is answered from segments of %i read groups', async (groups) => {
    const events = someEvents(36_000, groups)
    const { projectId, asking, eraser } = await sealedProject(events, groups)
    for (const sample of SAMPLES) {
      const expected = answerOf(spec, ofSample(events, sample))
      expect(expected.steps[1]!.users).toBeGreaterThan(0)
      for (const memoryBytes of [67_108_864, 300_000]) {
        const { plan, result } = await asking.segments(spec, { sample }, memoryBytes)
        expect(result).toEqual(expected)
        expect(plan.readGroupCount).toBe(groups)
        // What is of other read groups is not read: three buckets are of three at most.
        if (sample > 0.01) continue
        const read = new Set(plan.units.map(({ readGroup }) => readGroup))
        expect(read.size).toBeLessThanOrEqual(Math.min(3, groups))
        if (groups === 25) expect(plan.rowCount).toBeLessThan(10_000)
      }
    }
    const sample = 0.05
    const sampled = ofSample(events, sample)
    const gone = sampled[0]!.user
    await eraser(gone)
    const left = sampled.filter(({ user }) => user !== gone)
    expect((await asking.segments(spec, { sample })).result).toEqual(answerOf(spec, left))

    const { root } = await stores.snapshots.root(projectId)
    const segmentUsers = openSegmentUsers({ segments: asking.segmentsOf(67_108_864), pool })
    const page = { asked: dropped, after: null, limit: 100_000 }
    const { users } = await segmentUsers(asking.readOf(spec, { sample }), root!, page)
    const numbers = users.map(({ userNumber }) => userNumber)
    const ids = await openUserIds(stores)(projectId, root!, numbers)
    const listed = users.map(({ userNumber, enteredMs, reachedMs }) => ({
      ...{ user: ids.get(userNumber)!, enteredMs, reachedMs },
    }))
    expect(listed.sort(byUser)).toEqual(foldFunnelUsers(dropped, left).sort(byUser))
  })

  test('is answered from raw rows, of which those of other buckets are not read', async () => {
    const { projectId } = await openSealedProject(stores)
    const events = someEvents(6_000, 50)
    await writeRaw(keyspace, projectId, events)
    const asking = openAsking(stores, pool, projectId)
    for (const sample of SAMPLES) {
      const sampled = ofSample(events, sample)
      const { result, amounts } = await asking.rows(spec, { sample })
      expect(result).toEqual(answerOf(spec, sampled))
      const partitions = sampled.map(({ user, timeMs }) => `${bucketOf(user)} ${dayOf(timeMs)}`)
      expect(amounts.partitions).toBe(new Set(partitions).size)
      expect(amounts.events).toBe(sampled.length)
      const page = { asked: dropped, after: null, limit: 100_000 }
      const { users } = await listRowUsers(asking.rawEvents, asking.readOf(spec, { sample }), page)
      const listed = users.map(({ userId, enteredMs, reachedMs }) => ({
        ...{ user: userId, enteredMs, reachedMs },
      }))
      expect(listed.sort(byUser)).toEqual(foldFunnelUsers(dropped, sampled).sort(byUser))
    }
  })
})

describe('a sample of values', () => {
  test('is of whoever has them, in segments and in raw rows', async () => {
    const events = someEvents(20_000, 60)
    const { projectId, asking } = await sealedProject(events, 5)
    await writeRaw(keyspace, projectId, events)
    const values = byValue(events.map(asTestEvent), 'org')
    for (const sample of SAMPLES) {
      const sampled = values.filter(({ user }) => isSampledText(user, sample))
      const expected = answerOf(spec, sampled)
      expect(expected.steps[0]!.users).toBeGreaterThan(0)
      const part = { countBy: 'org', sample }
      for (const memoryBytes of [67_108_864, 200_000]) {
        const { result, plan } = await asking.segments(spec, part, memoryBytes)
        expect(result).toEqual(expected)
        expect(plan.rowCount).toBe(20_000 * plan.values!.classCount)
      }
      const rows = await asking.rows(spec, part)
      expect(rows.result).toEqual(expected)
      expect(rows.amounts.events).toBe(20_000)
    }
  })
})

const byUser = (a: { user: string }, b: { user: string }) => (a.user < b.user ? -1 : 1)
