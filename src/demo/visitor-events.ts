import { DAY_MS, HOUR_MS } from '../event/day.ts'
import { openRandom, type Random } from './random.ts'
import {
  ANONYMOUS_RATE,
  BROKEN_BROWSER,
  LATE_RATE,
  REFUND_RATE,
  REFUND_REASONS,
  TWICE_RATE,
} from './shop.ts'
import { visitDeeds, type Deed } from './visit.ts'
import { drawVisitor, type Visitor } from './visitor.ts'

const FIRST_USER_ID = 100_000
const BETWEEN_DEEDS_MS = 30_000
const DEED_MS_MIN = 1_000
const LATE_HOURS_MAX = 12
const REFUND_DAYS_MIN = 2
const REFUND_DAYS_MAX = 9

/** All that decides what the shop's events are. Times in milliseconds since 1970, the end excluded. */
export interface DemoShop {
  readonly seed: string
  readonly startMs: number
  readonly endMs: number
}

/** An event as it is sent (api.md). */
export interface DemoEvent extends Deed {
  readonly id: string
  readonly userId?: number
  readonly anonymousId?: string
  readonly sessionId?: string
  readonly time: number
}

/** An event and when it would have been sent: most at once, some hours later, some twice. */
export interface DemoSending {
  readonly sentMs: number
  readonly event: DemoEvent
}

/**
 * Returns what one visitor of the shop does, always the same for the same shop and visitor, in the order of
 * time; a copy stands behind its original. An event's time is within the shop's range, and its id is its own.
 */
export function visitorEvents(shop: DemoShop, visitor: number): DemoSending[] {
  const random = openRandom(`${shop.seed} ${visitor}`)
  const who = drawVisitor(random, shop)
  const isAnonymous = random.chance(ANONYMOUS_RATE)
  const user = isAnonymous
    ? { anonymousId: `demo-${visitor}` }
    : { userId: FIRST_USER_ID + visitor }
  return deedsOf(random, who, { shop, visitor, isAnonymous })
    .filter(({ timeMs }) => timeMs >= shop.startMs && timeMs < shop.endMs)
    .sort((a, b) => a.timeMs - b.timeMs)
    .flatMap(({ timeMs, event, properties, session }, index) => {
      const id = `demo-${visitor}-${index}`
      const time = { ...session, time: timeMs }
      return sendings(random, { id, event, ...user, ...time, properties })
    })
}

interface TimedDeed extends Deed {
  readonly timeMs: number
  readonly session: { readonly sessionId?: string }
}

/** All visits of one visitor, and what follows from them. */
function deedsOf(
  random: Random,
  { country, device, browser, isEarlier, visits }: Visitor,
  known: { readonly shop: DemoShop; readonly visitor: number; readonly isAnonymous: boolean },
): TimedDeed[] {
  const { shop, visitor, isAnonymous } = known
  const middleMs = (shop.startMs + shop.endMs) / 2
  const who = { country: country.code, device, browser }
  const deeds: TimedDeed[] = []
  let maySignUp = !isAnonymous && !isEarlier
  for (const [index, { startMs, source }] of visits.entries()) {
    const orderId = `O-${visitor}-${index}`
    const isPaymentBroken = browser === BROKEN_BROWSER && startMs >= middleMs
    const { landing, campaign, ...from } = source
    const shared = { ...who, ...from, ...(campaign === null ? {} : { campaign }) }
    const session = { sessionId: `demo-${visitor}-s${index}` }
    let timeMs = startMs
    const setting = { device, landing, maySignUp, isPaymentBroken, orderId }
    for (const { event, properties } of visitDeeds(random, setting)) {
      deeds.push({ timeMs, event, properties: { ...properties, ...shared }, session })
      if (event === 'sign_up') maySignUp = false
      if (event === 'purchase' && random.chance(REFUND_RATE))
        deeds.push({ ...refundOf(random, properties, timeMs), session: {} })
      timeMs += DEED_MS_MIN + Math.floor(random.gap(BETWEEN_DEEDS_MS))
    }
  }
  return deeds
}

function refundOf(random: Random, { orderId, revenue }: Deed['properties'], purchaseMs: number) {
  const days = random.integer(REFUND_DAYS_MIN, REFUND_DAYS_MAX)
  return {
    timeMs: purchaseMs + days * DAY_MS + Math.floor(random.next() * HOUR_MS),
    event: 'refund',
    properties: { orderId, amount: revenue, reason: random.pick(REFUND_REASONS) },
  }
}

function sendings(random: Random, event: DemoEvent): DemoSending[] {
  const lateHours = random.chance(LATE_RATE) ? random.integer(1, LATE_HOURS_MAX) : 0
  const sentMs = event.time + lateHours * HOUR_MS
  if (!random.chance(TWICE_RATE)) return [{ sentMs, event }]
  return [
    { sentMs, event },
    { sentMs: sentMs + Math.floor(random.gap(HOUR_MS)), event },
  ]
}
