import { expect, test } from 'vitest'
import { PLAIN, PLAIN_STEP, type FunnelSpec } from '../../src/analysis/funnel-spec.ts'
import { bucketOf } from '../../src/event/bucket.ts'
import { DAY_MS, dayOf } from '../../src/event/day.ts'
import type { Event } from '../../src/event/event.ts'
import type { History } from '../../src/query/history.ts'
import { anEvent } from '../support/an-event.ts'
import { answerOf, asTestEvent, openAsking, openTestPool, writeRaw } from '../support/asking.ts'
import { openTestKeyspace } from '../support/keyspace.ts'
import { openRandom, openSealedProject } from '../support/sealing.ts'

// Which events are read is seen by a funnel of one step that takes each: no user has two of them, and each has its
// name and day for a value of the breakdown.

const keyspace = await openTestKeyspace()
const { stores } = keyspace
const pool = await openTestPool(keyspace)

const END_DAY = Math.floor(Date.now() / DAY_MS)
const range = { startMs: (END_DAY - 4) * DAY_MS, endMs: END_DAY * DAY_MS }
const NAMES = ['view', 'buy', 'sign up', 'other']

const someEvents = (count: number, seed: number): Event[] => {
  const random = openRandom(seed)
  const below = (end: number) => Math.floor(random() * end)
  return Array.from({ length: count }, (_, index) => {
    const eventName = NAMES[below(4)]!
    // Some are of the month before, or the one before that.
    const day = END_DAY - 50 + below(52)
    return anEvent({
      ...{ userId: `${seed * 100_000 + index}`, eventName },
      eventTimeMs: day * DAY_MS + below(1_000) * 86_400,
      properties: JSON.stringify({ at: `${eventName} ${day}` }),
    })
  })
}

const wholeSpec: FunnelSpec = {
  ...PLAIN,
  steps: [{ ...PLAIN_STEP, matchers: [{ eventName: null, where: [] }] }],
  ...{ windowMs: 0, entryStartMs: -Infinity, entryEndMs: Infinity, lastEndMs: Infinity },
  breakdown: { property: 'at', attribution: 'first', step: 0, limit: 10_000 },
}

const histories: [string, readonly string[] | null, History | null][] = [
  ['none', ['view', 'buy'], null],
  ['a name asked for', ['view', 'buy'], { startMs: 10.5, eventNames: ['view'] }],
  ['another name', ['view', 'buy'], { startMs: 40, eventNames: ['sign up'] }],
  ['one of all', null, { startMs: 47, eventNames: ['sign up', 'none such'] }],
  ['every name', ['view'], { startMs: 20, eventNames: null }],
].map(([of, names, history]) => {
  const read = history as History | null
  if (read === null) return [of as string, names as string[], null]
  const startMs = (END_DAY - read.startMs) * DAY_MS
  return [of as string, names as string[] | null, { ...read, startMs }]
})

test('names of a history are read from its beginning, and all others within the range', async () => {
  const { projectId, writer, sealer } = await openSealedProject(stores)
  const events = someEvents(9_000, 1)
  for (let at = 0; at < events.length; at += 500) {
    await writer.commit(events.slice(at, at + 500))
    await writer.beat()
    await sealer.seal()
    if (at === 8_000) await sealer.merge(Infinity)
  }
  await writeRaw(keyspace, projectId, events)
  const asking = openAsking(stores, pool, projectId)
  for (const [of, eventNames, history] of histories) {
    const isRead = ({ eventName, eventTimeMs }: Event, isWholeDay: boolean) => {
      const isHistoric = history !== null && (history.eventNames?.includes(eventName) ?? true)
      if (!isHistoric && !(eventNames?.includes(eventName) ?? true)) return false
      const startMs = isHistoric ? history.startMs : range.startMs
      const fromMs = isWholeDay ? Math.floor(startMs / DAY_MS) * DAY_MS : startMs
      return eventTimeMs >= fromMs && eventTimeMs < range.endMs
    }
    const exactly = events.filter((event) => isRead(event, false))
    const ofDays = events.filter((event) => isRead(event, true))
    const part = { range, eventNames, history }

    const segments = await asking.segments(wholeSpec, part)
    expect(segments.result, of).toEqual(answerOf(wholeSpec, ofDays.map(asTestEvent)))
    expect(segments.plan.rowCount).toBe(ofDays.length)
    expect(segments.amounts.events).toBe(ofDays.length)

    const rows = await asking.rows(wholeSpec, part)
    expect(rows.result, of).toEqual(answerOf(wholeSpec, exactly.map(asTestEvent)))
    const firstDay = dayOf(history?.startMs ?? range.startMs)
    const partitions = events
      .map(({ userId, eventTimeMs }) => [bucketOf(userId), dayOf(eventTimeMs)] as const)
      .filter(([, day]) => day >= firstDay && day < END_DAY)
    expect(rows.amounts.partitions).toBe(new Set(partitions.map(String)).size)
  }
})
