import { describe, expect, test } from 'vitest'
import { openLiveListener } from '../../../src/query/live-listener.ts'
import type { StoredEvent } from '../../../src/store/event-row.ts'

const anEvent = (eventName: string, properties = '{}'): StoredEvent => ({
  ...{ eventId: 'id', id: 'id', userId: 'u', anonymousId: null, sessionId: null },
  ...{ eventName, properties, eventTimeMs: 0, receivedAtMs: 0 },
})
function begun(eventName: string | null = null) {
  const listener = openLiveListener({ eventName, onEnd: () => {} })
  listener.begin()
  return listener
}
const take = async (listener: ReturnType<typeof begun>) => {
  const { events, dropped } = await listener.take(1)
  return [events.length, dropped]
}

describe('a listener', () => {
  test('is given what came, once, and nothing after a time without any', async () => {
    const listener = begun()
    listener.offer(anEvent('a'))
    expect([await take(listener), await take(listener)]).toEqual([
      [1, 0],
      [0, 0],
    ])
  })

  test('is woken by what comes', async () => {
    const listener = begun()
    const taking = listener.take(60_000)
    listener.offer(anEvent('a'))
    expect((await taking).events).toHaveLength(1)
  })

  test('is given nothing that came before it began, nor of other names', async () => {
    const listener = openLiveListener({ eventName: 'a', onEnd: () => {} })
    listener.offer(anEvent('a'))
    listener.begin()
    for (const name of ['b', 'a', 'A']) listener.offer(anEvent(name))
    expect(await take(listener)).toEqual([1, 0])
  })

  test.each([
    ['10,000 events', '{}', 10_000],
    ['4 MiB', 'x'.repeat(65_536), 64],
  ])('holds %s, counts what is beyond, and goes on once they are taken', async (_, text, count) => {
    const listener = begun()
    for (let offered = 0; offered < count + 7; offered++) listener.offer(anEvent('a', text))
    expect(await take(listener)).toEqual([count, 7])
    listener.offer(anEvent('a', text))
    expect(await take(listener)).toEqual([1, 0])
  })

  test('that has ended is told at once, and takes nothing', async () => {
    let endedCount = 0
    const listener = openLiveListener({ eventName: null, onEnd: () => endedCount++ })
    listener.begin()
    const taking = listener.take(60_000)
    listener.end()
    listener.end()
    listener.offer(anEvent('a'))
    expect([(await taking).events, await take(listener), endedCount]).toEqual([[], [0, 0], 1])
    expect(listener.ended.aborted).toBe(true)
  })
})
