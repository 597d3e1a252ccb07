import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, inject, test } from 'vitest'
import type { UsersAsked } from '../../src/analysis/funnel-users.ts'
import { eventNamesOf, PLAIN, PLAIN_STEP, type FunnelSpec } from '../../src/analysis/funnel-spec.ts'
import { neededProperties } from '../../src/query/funnel-read.ts'
import { DAY_MS, HOUR_MS } from '../../src/event/day.ts'
import type { Event } from '../../src/event/event.ts'
import { openFoldPool } from '../../src/query/fold-pool.ts'
import { openPins, PIN_MS } from '../../src/query/pins.ts'
import { openSegmentUsers } from '../../src/query/segment-users.ts'
import { openSegments } from '../../src/query/segments.ts'
import { openUserIds } from '../../src/query/user-ids.ts'
import { encodeRoot, type Root } from '../../src/segment/root.ts'
import { anEvent } from '../support/an-event.ts'
import { foldFunnelUsers } from '../support/fold-funnel.ts'
import { openTestKeyspace, silentLog } from '../support/keyspace.ts'
import { openRandom, openSealedProject, openTestClock } from '../support/sealing.ts'

const { stores, keyspace, onWarning } = await openTestKeyspace()
const { contactPoints, localDataCenter, service: credentials } = inject('database')
const database = { contactPoints, localDataCenter, credentials, keyspace }
const pool = openFoldPool({
  ...{ threadCount: 2, start: { database, logLevel: 'silent' }, onWarning, log: silentLog },
})
afterAll(() => pool.close(AbortSignal.timeout(20_000)))
await pool.hasBegun

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
const ofPlan: UsersAsked = {
  ...{ spec, step: 2, outcome: 'converted', values: { texts: ['a', null], areAmong: true } },
}

/** Events of users in four buckets, so many of one that they lie in several fold groups. */
function someEvents(count: number, seed: number): Event[] {
  const random = openRandom(seed)
  const below = (end: number) => Math.floor(random() * end)
  return Array.from({ length: count }, () =>
    anEvent({
      userId: String(below(1_500) * 1_000 + [0, 1, 401, 999][below(4)]!),
      eventName: ['view', 'cart', 'buy'][below(3)]!,
      eventTimeMs: START_MS + below(3) * DAY_MS + below(500) * 100_000,
      properties: JSON.stringify({ plan: ['a', 'b', null][below(3)] }),
    }),
  )
}

const listOf = (asked: UsersAsked, events: readonly Event[]) =>
  foldFunnelUsers(
    asked,
    events.map(({ userId, eventName, eventTimeMs, properties }) => ({
      ...{ user: userId, event: eventName, timeMs: eventTimeMs },
      properties: JSON.parse(properties) as Record<string, string>,
    })),
  )

async function openPages(projectId: string, memoryBytesMax = 64 * 1_048_576) {
  const { root } = await stores.snapshots.root(projectId)
  const segments = openSegments({
    ...{ snapshots: stores.snapshots, pool, cacheBytesMax: 0, memoryBytesMax },
    eventsMax: 1_000_000,
  })
  const segmentUsers = openSegmentUsers({ segments, pool })
  const userIds = openUserIds(stores)
  const read = {
    projectId,
    range: { startMs: START_MS, endMs: START_MS + 4 * DAY_MS },
    ...{ eventNames: eventNamesOf(spec), ...neededProperties(spec, null) },
    ...{ history: null, sample: 1 },
    nowMs: Date.now(),
    signal: new AbortController().signal,
  }
  return {
    page: (asked: UsersAsked, after: number | null, limit: number) =>
      segmentUsers(read, root!, { asked, after: afterUser(after), limit }),

    /** All pages, with the users' ids, ascending. */
    async all(asked: UsersAsked, limit: number) {
      const listed: ReturnType<typeof listOf> = []
      for (let after: number | null = null; ;) {
        const { users } = await segmentUsers(read, root!, { asked, after: afterUser(after), limit })
        const numbers = users.map(({ userNumber }) => userNumber)
        const ids = await userIds(projectId, root!, numbers)
        for (const { userNumber, enteredMs, reachedMs } of users)
          listed.push({ user: ids.get(userNumber)!, enteredMs, reachedMs })
        if (users.length < limit) return listed.sort(byUser)
        after = numbers.at(-1)!
      }
    },
  }
}

/** Users are listed once each. */
const afterUser = (userNumber: number | null) =>
  userNumber === null ? null : { userNumber, ordinal: 0 }

const byUser = (a: { user: string }, b: { user: string }) => (a.user < b.user ? -1 : 1)

async function sealedProject(events: readonly Event[], passes: number, readGroupCount = 1) {
  const project = await openSealedProject(stores)
  const size = Math.ceil(events.length / passes)
  for (let start = 0; start < events.length; start += size) {
    const part = events.slice(start, start + size)
    for (let at = 0; at < part.length; at += 500)
      await project.writer.commit(part.slice(at, at + 500))
    await project.writer.beat()
    await project.sealer.seal()
    if (start === 0) await setReadGroups(project.projectId, readGroupCount)
  }
  await project.sealer.merge(Infinity)
  return project
}

async function setReadGroups(projectId: string, readGroupCount: number): Promise<void> {
  const { version, root } = await stores.snapshots.root(projectId)
  const grown: Root = { ...root!, publication: randomUUID(), readGroupCount }
  expect(await stores.roots.publish(projectId, version, encodeRoot(grown))).toBe(true)
}

describe('pages of users from segments', () => {
  test.each([
    ['one read group', 1],
    ['several', 5],
  ])('add up to all users of %s, whatever their length and the memory', async (_, groups) => {
    const events = someEvents(45_000, groups)
    const { projectId } = await sealedProject(events, 17, groups)
    for (const asked of [dropped, ofPlan]) {
      const expected = listOf(asked, events).sort(byUser)
      expect(expected.length).toBeGreaterThan(500)
      const pages = await openPages(projectId)
      for (const limit of [150, 999, 1_000_000])
        expect(await pages.all(asked, limit)).toEqual(expected)
      expect(await (await openPages(projectId, 300_000)).all(asked, 500)).toEqual(expected)
    }
  })

  test('add up while some days are placed for fewer read groups', async () => {
    const events = someEvents(50_000, 7)
    const project = await sealedProject(events.slice(0, 40_000), 16)
    await setReadGroups(project.projectId, 5)
    const { writer, sealer } = project
    for (let at = 40_000; at < events.length; at += 500)
      await writer.commit(events.slice(at, at + 500))
    await writer.beat()
    await sealer.seal()
    const pages = await openPages(project.projectId)
    expect(await pages.all(dropped, 100)).toEqual(listOf(dropped, events).sort(byUser))
  })

  test('fold no more than they need from where they begin', async () => {
    const events = someEvents(60_000, 9)
    const { projectId } = await sealedProject(events, 16)
    const { page } = await openPages(projectId)
    const whole = await page(dropped, null, 1_000_000)
    expect(whole.eventCount).toBe(60_000)
    const first = await page(dropped, null, 10)
    expect(first.eventCount).toBeLessThan(30_000)
    const last = await page(dropped, whole.users.at(-20)!.userNumber, 10)
    expect(last.users).toEqual(whole.users.slice(-19, -9))
    expect(last.eventCount).toBeLessThan(30_000)
  })
})

test('what a list is about can be read to its last moment, whatever is merged and swept', async () => {
  const events = someEvents(2_000, 11)
  const { projectId, writer, sealer, clock } = await sealedProject(events, 12)
  // At the end of an hour, since what is given up is deleted by hours.
  clock.pass(HOUR_MS - (clock.nowMs() % HOUR_MS) - 1_000)
  const pages = await openPages(projectId)
  const expected = await pages.all(dropped, 100)
  expect(expected).toEqual(listOf(dropped, events).sort(byUser))
  for (let pass = 0; pass < 16; pass++) {
    await writer.commit(someEvents(50, 20 + pass))
    await writer.beat()
    await sealer.seal()
  }
  await sealer.merge(Infinity)
  clock.pass(PIN_MS)
  await sealer.sweep()
  expect(await pages.all(dropped, 100)).toEqual(expected)
  clock.pass(2 * HOUR_MS)
  await sealer.sweep()
  await expect(pages.all(dropped, 100)).rejects.toThrow('missing')
})

test('ids are found in lists of many chunks, merged or fresh, and a number that no list has is told', async () => {
  const project = await openSealedProject(stores)
  const { projectId, writer, sealer } = project
  const users = Array.from({ length: 9_500 }, (_, index) => `user ${index}`)
  const commit = async (some: readonly string[]) => {
    for (let at = 0; at < some.length; at += 500)
      await writer.commit(some.slice(at, at + 500).map((userId) => anEvent({ userId })))
    await writer.beat()
    await sealer.seal()
  }
  await commit(users.slice(0, 4_500))
  for (let part = 0; part < 16; part++) await commit(users.slice(4_500, 4_501 + part))
  await sealer.merge(Infinity)
  await commit(users.slice(4_600))
  const { root } = await stores.snapshots.root(projectId)
  expect(Math.max(...root!.userLists.map(({ userCount }) => userCount))).toBeGreaterThan(4_096)
  expect(Math.max(...root!.fresh.map(({ userCount }) => userCount))).toBeGreaterThan(4_096)
  const userIds = openUserIds(stores)
  const counts = Array.from({ length: 40 }, (_, n) => n)
  const numbers = counts.flatMap((n) => Array.from({ length: 1_000 }, (_, at) => n * 1_000 + at))
  const isThere = async (number: number) =>
    await userIds(projectId, root!, [number]).then(
      (ids) => [ids.get(number)!],
      (error: { code: string }) => {
        expect(error.code).toBe('DATA_DAMAGED')
        return []
      },
    )
  const found: string[] = []
  for (const number of numbers) found.push(...(await isThere(number)))
  const stored = [...users.slice(0, 4_516), ...users.slice(4_600)]
  expect(found.sort()).toEqual(stored.sort())
})

test('a pin is kept for 45 minutes, and for its project alone', async () => {
  const clock = openTestClock()
  const pins = openPins({ ...stores, clock })
  const projectId = randomUUID()
  const { root } = await stores.snapshots.root(
    (await sealedProject(someEvents(100, 3), 1)).projectId,
  )
  const pin = { question: 'q', nowMs: clock.nowMs(), asOfMs: 5, root, shownValues: ['a', 'ü'] }
  const id = await pins.write(projectId, pin)
  expect(await pins.read(projectId, id)).toEqual(pin)
  const expired = expect.objectContaining({ code: 'CURSOR_EXPIRED' }) as unknown
  await expect(pins.read(randomUUID(), id)).rejects.toEqual(expired)
  clock.pass(PIN_MS)
  expect(await pins.read(projectId, id)).toEqual(pin)
  clock.pass(1)
  await expect(pins.read(projectId, id)).rejects.toEqual(expired)
  const cql = 'SELECT TTL(data) AS ttl FROM objects WHERE project = ? AND object = ?'
  const select = { table: 'objects', operation: 'ttl', cql }
  const [row] = await stores.session.all(select, [projectId, id])
  expect(row!['ttl']).toBeLessThanOrEqual(45 * 60)
})
