import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openRandom } from '../../src/demo/random.ts'
import {
  ANONYMOUS_RATE,
  BROKEN_BROWSER,
  BROKEN_PURCHASE_RATE,
  LATE_RATE,
  RATES,
  TWICE_RATE,
  type Device,
} from '../../src/demo/shop.ts'
import { visitorEvents, type DemoEvent } from '../../src/demo/visitor-events.ts'
import { checkEvent, isRejection } from '../../src/event/check-event.ts'
import { DAY_MS, HOUR_MS } from '../../src/event/day.ts'
import { groupBy } from '../../src/group-by.ts'

const NOON_MS = Date.parse('2026-11-30T12:00:00Z')
const shops = fc
  .tuple(fc.string(), fc.integer({ min: 0, max: 10 * DAY_MS }), fc.integer({ min: 1, max: 40 }))
  .map(([seed, shiftMs, days]) => {
    const endMs = NOON_MS - shiftMs
    return { seed, startMs: endMs - days * DAY_MS, endMs }
  })
const visitors = fc.nat(10_000)

describe('what a visitor of the demo shop does', () => {
  test('is the same for the same shop and visitor, and another for another seed', () => {
    fc.assert(
      fc.property(shops, visitors, (shop, visitor) => {
        expect(visitorEvents(shop, visitor)).toEqual(visitorEvents({ ...shop }, visitor))
      }),
    )
    const shop = { seed: 'a', startMs: NOON_MS - 30 * DAY_MS, endMs: NOON_MS }
    const of = (seed: string) => [1, 2, 3].flatMap((one) => visitorEvents({ ...shop, seed }, one))
    expect(of('a')).not.toEqual(of('b'))
  })

  test('lies within the range, in order, and is sent then or later', () => {
    fc.assert(
      fc.property(shops, visitors, (shop, visitor) => {
        const sendings = visitorEvents(shop, visitor)
        const times = sendings.map(({ event }) => event.time)
        expect(times.every((ms) => ms >= shop.startMs && ms < shop.endMs)).toBe(true)
        expect(times).toEqual(times.toSorted((a, b) => a - b))
        expect(sendings.every(({ sentMs, event }) => sentMs >= event.time)).toBe(true)
      }),
    )
  })

  test('has an id of its own, but for copies, which are equal', () => {
    fc.assert(
      fc.property(shops, visitors, visitors, (shop, one, other) => {
        const numbers = [...new Set([one, other])]
        const events = numbers.flatMap((visitor) => visitorEvents(shop, visitor))
        for (const copies of groupBy(events, ({ event }) => event.id).values()) {
          expect(copies.length).toBeLessThanOrEqual(2)
          for (const { event } of copies) expect(event).toEqual(copies[0]!.event)
        }
      }),
    )
  })

  test('is by one user, known or anonymous', () => {
    fc.assert(
      fc.property(shops, visitors, (shop, visitor) => {
        const events = visitorEvents(shop, visitor).map(({ event }) => event)
        expect(
          new Set(events.map(({ userId, anonymousId }) => `${userId} ${anonymousId}`)).size,
        ).toBeLessThanOrEqual(1)
        expect(events.every((event) => 'userId' in event !== 'anonymousId' in event)).toBe(true)
      }),
    )
  })
})

describe('chance', () => {
  test('keeps to its bounds and weights', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer(), fc.nat(1_000), (seed, least, span) => {
        const random = openRandom(seed)
        for (let draw = 0; draw < 20; draw++) {
          const drawn = random.integer(least, least + span)
          expect(drawn >= least && drawn <= least + span && Number.isInteger(drawn)).toBe(true)
          expect(random.gap(5)).toBeGreaterThanOrEqual(0)
        }
      }),
    )
    const random = openRandom('weights')
    const drawn = Array.from({ length: 40_000 }, () =>
      random.pick([
        ['a', 1],
        ['b', 3],
        ['c', 0],
      ]),
    )
    expect(shareOf(drawn, (one) => one === 'b')).toBeCloseTo(0.75, 1)
    expect(drawn).not.toContain('c')
  })
})

/** As `npm start` fills it, but for the seed. */
describe('the demo shop as a whole', () => {
  const shop = { seed: 'whole', startMs: NOON_MS - 30 * DAY_MS, endMs: NOON_MS }
  const sendings = Array.from({ length: 6_000 }, (_, visitor) =>
    visitorEvents(shop, visitor),
  ).flat()
  const events = [...new Map(sendings.map(({ event }) => [event.id, event])).values()]
  const visits = [...groupBy(events, ({ sessionId }) => sessionId).entries()]
    .filter(([sessionId]) => sessionId !== undefined)
    .map(([, visit]) => visit)
  const has = (visit: readonly DemoEvent[], name: string) =>
    visit.some(({ event }) => event === name)
  const isBroken = ([first]: readonly DemoEvent[]) =>
    first!.properties['browser'] === BROKEN_BROWSER && first!.time >= NOON_MS - 15 * DAY_MS

  test('has thousands of users and tens of thousands of events', () => {
    const users = new Set(events.map(({ userId, anonymousId }) => userId ?? anonymousId))
    expect(users.size).toBeGreaterThan(4_500)
    expect(events.length).toBeGreaterThan(60_000)
    expect(events.length).toBeLessThan(100_000)
    const anonymous = shareOf([...users], (user) => typeof user === 'string')
    expect(anonymous).toBeCloseTo(ANONYMOUS_RATE, 1)
  })

  test('has events that the service takes', () => {
    const context = { projectId: 'p', retentionDays: 400, receivedAtMs: NOON_MS }
    const stringify = (value: unknown) => JSON.stringify(value)
    const outcomes = events.map((event) => checkEvent(event, { ...context, stringify }))
    expect(outcomes.filter(isRejection)).toEqual([])
  })

  test.each(['desktop', 'mobile', 'tablet'] as Device[])(
    'drops off as configured on %s',
    (device) => {
      const rates = RATES[device]
      const here = visits.filter(([first]) => first!.properties['device'] === device)
      const carts = here.filter((visit) => has(visit, 'add_to_cart'))
      const checkouts = here.filter((visit) => has(visit, 'begin_checkout') && !isBroken(visit))
      const bounced = shareOf(here, (visit) => visit.length === 1)
      expect(isNear(bounced, rates.bounce, here.length)).toBe(true)
      const begun = shareOf(carts, (visit) => has(visit, 'begin_checkout'))
      expect(isNear(begun, rates.beginCheckout, carts.length)).toBe(true)
      const bought = shareOf(checkouts, (visit) => has(visit, 'purchase'))
      expect(isNear(bought, rates.purchase, checkouts.length)).toBe(true)
    },
  )

  test('hardly sells in the broken browser, in the second half only', () => {
    const checkouts = visits.filter((visit) => has(visit, 'begin_checkout'))
    const broken = checkouts.filter(isBroken)
    expect(broken.length).toBeGreaterThan(30)
    const bought = shareOf(broken, (visit) => has(visit, 'purchase'))
    expect(isNear(bought, BROKEN_PURCHASE_RATE, broken.length)).toBe(true)
    const before = checkouts.filter(
      (visit) => visit[0]!.properties['browser'] === BROKEN_BROWSER && !isBroken(visit),
    )
    expect(shareOf(before, (visit) => has(visit, 'purchase'))).toBeGreaterThan(0.4)
  })

  test('is come back to less and less, and more after a week than around it', () => {
    const daysOf = (user: readonly DemoEvent[]) =>
      new Set(user.map(({ time }) => Math.floor(time / DAY_MS)))
    const users = [...groupBy(events, (one) => one.userId ?? one.anonymousId).values()].map(daysOf)
    const returning = (age: number) => shareOf(users, (days) => days.has(Math.min(...days) + age))
    expect(returning(1)).toBeGreaterThan(returning(4))
    expect(returning(4)).toBeGreaterThan(returning(20))
    expect(returning(7)).toBeGreaterThan(1.3 * Math.max(returning(6), returning(8)))
  })

  test('has late events and copies as configured', () => {
    const late = shareOf(sendings, ({ sentMs, event }) => sentMs - event.time >= HOUR_MS)
    expect(late).toBeGreaterThan(LATE_RATE * 0.8)
    expect(late).toBeLessThan((LATE_RATE + TWICE_RATE) * 1.2)
    expect(isNear(sendings.length / events.length - 1, TWICE_RATE, events.length)).toBe(true)
  })

  test('has numbers for prices and quantities, and nested properties', () => {
    const carts = events.filter(({ event }) => event === 'add_to_cart')
    for (const { properties } of carts) {
      const { price } = properties['product'] as { price: unknown }
      expect([typeof price, typeof properties['quantity']]).toEqual(['number', 'number'])
    }
    for (const one of events.filter(({ event }) => event === 'refund'))
      expect(one.properties).toMatchObject({ amount: expect.any(Number) as number })
  })
})

function shareOf<T>(all: readonly T[], isMeant: (one: T) => boolean): number {
  return all.filter(isMeant).length / all.length
}

/** Within four standard deviations of what so many draws give. */
function isNear(share: number, rate: number, draws: number): boolean {
  return Math.abs(share - rate) <= 4 * Math.sqrt((rate * (1 - rate)) / draws)
}
