import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { PLAIN, PLAIN_STEP, type FunnelSpec } from '../../src/analysis/funnel-spec.ts'
import { DAY_MS } from '../../src/event/day.ts'
import type { Event } from '../../src/event/event.ts'
import { SESSION_ID_PATH } from '../../src/segment/columns.ts'
import { anEvent } from '../support/an-event.ts'
import { answerOf, asTestEvent, openAsking, openTestPool, writeRaw } from '../support/asking.ts'
import { byValue } from '../support/funnel-oracle.ts'
import { openTestKeyspace } from '../support/keyspace.ts'
import { openRandom, openSealedProject, openTestClock, openTestSealer } from '../support/sealing.ts'

// Session ids are a column that folds ask for like a property. They are seen here as values of a breakdown.

const keyspace = await openTestKeyspace()
const { stores } = keyspace
const pool = await openTestPool(keyspace)

const START_MS = (Math.floor(Date.now() / DAY_MS) - 5) * DAY_MS
const spec: FunnelSpec = {
  ...PLAIN,
  steps: ['view', 'buy'].map((eventName, step) => ({
    ...PLAIN_STEP,
    matchers: [
      { eventName, where: step === 0 ? [] : [{ property: 'n', op: 'gte' as const, value: 2 }] },
    ],
  })),
  windowMs: 12 * 3_600_000,
  entryStartMs: START_MS,
  entryEndMs: START_MS + 3 * DAY_MS,
  lastEndMs: Infinity,
  breakdown: { property: SESSION_ID_PATH, attribution: 'first', step: 0, limit: 10_000 },
}

/** Events of 2,000 sessions, and without one. A property of theirs has the very name that folds ask for. */
function someEvents(count: number, seed: number, withSessions = true): Event[] {
  const random = openRandom(seed)
  const below = (end: number) => Math.floor(random() * end)
  return Array.from({ length: count }, () =>
    anEvent({
      userId: String(below(100) * 1_000 + below(30)),
      eventName: ['view', 'buy'][below(2)]!,
      sessionId: withSessions && below(3) > 0 ? `session ${below(2_000)}` : null,
      eventTimeMs: START_MS + below(3) * DAY_MS + below(500) * 100_000,
      properties: JSON.stringify({ n: below(4), [SESSION_ID_PATH]: 'sent' }),
    }),
  )
}

const withSessions = (events: readonly Event[]) =>
  events.map((event) => {
    const { user, event: name, timeMs, properties } = asTestEvent(event)
    const session = event.sessionId === null ? {} : { [SESSION_ID_PATH]: event.sessionId }
    return { user, event: name, timeMs, properties: { n: properties['n']!, ...session } }
  })

describe('a fold sees the session ids of events', () => {
  test('in fresh segments and in merged ones', async () => {
    const { projectId, writer, sealer } = await openSealedProject(stores)
    const asking = openAsking(stores, pool, projectId)
    // Those of every third pass have none, as those have that were sealed by an earlier version.
    const passes = Array.from({ length: 18 }, (_, pass) => someEvents(2_000, pass, pass % 3 > 0))
    const seal = async (events: readonly Event[]) => {
      for (let at = 0; at < events.length; at += 500)
        await writer.commit(events.slice(at, at + 500))
      await writer.beat()
      await sealer.seal()
    }
    for (const pass of passes.slice(0, 3)) await seal(pass)
    const few = answerOf(spec, withSessions(passes.slice(0, 3).flat()))
    const fresh = await asking.segments(spec)
    expect(fresh.plan.alone.length).toBe(0)
    expect(fresh.result).toEqual(few)
    expect(fresh.plan.isCut).toBe(false)

    for (const pass of passes.slice(3, 16)) await seal(pass)
    await sealer.merge(Infinity)
    for (const pass of passes.slice(16)) await seal(pass)
    const all = passes.flat()
    const merged = await asking.segments(spec)
    expect(merged.plan.alone.length).toBeGreaterThan(3)
    expect(merged.plan.shared.length).toBeGreaterThan(2)
    expect(merged.result).toEqual(answerOf(spec, withSessions(all)))
    expect(merged.result.breakdown!.length).toBeGreaterThan(800)

    const bySession = answerOf(spec, byValue(withSessions(all), SESSION_ID_PATH))
    const counted = await asking.segments(spec, { countBy: SESSION_ID_PATH })
    expect(counted.result).toEqual(bySession)
  })

  test('in raw rows, and in segments that were recovered from them', async () => {
    const projectId = randomUUID()
    const events = someEvents(3_000, 40)
    const expected = answerOf(spec, withSessions(events))
    await writeRaw(keyspace, projectId, events)
    const asking = openAsking(stores, pool, projectId)
    expect((await asking.rows(spec)).result).toEqual(expected)
    const bySession = answerOf(spec, byValue(withSessions(events), SESSION_ID_PATH))
    expect((await asking.rows(spec, { countBy: SESSION_ID_PATH })).result).toEqual(bySession)

    await openTestSealer(stores, projectId, openTestClock()).seal()
    const { result, amounts } = await asking.segments(spec)
    expect(amounts.events).toBe(3_000)
    expect(result).toEqual(expected)
  })
})
