// The events that the benches of questions ask about: 30 days of page views, some of which lead to a cart
// and some of these to a purchase. The same for the same number of users and seed.
import assert from 'node:assert'
import { DAY_MS } from '../src/event/day.ts'

export const EVENT_NAMES = ['page_view', 'add_to_cart', 'purchase'] as const
/** From the most to the least frequent: the n-th as often as 1/n. */
export const COUNTRIES = [
  ...['US', 'DE', 'GB', 'FR', 'IN', 'BR', 'JP', 'CA', 'ES', 'IT'],
  ...['NL', 'PL', 'SE', 'MX', 'AU', 'TR', 'KR', 'CH', 'AT', 'ZA'],
] as const
export const PLANS = ['free', 'pro', 'team'] as const

export const DAYS = 30
const RANGE_MS = DAYS * DAY_MS
const VIEWS_PER_USER = 2
const CART_SHARE = 0.3
const PURCHASE_SHARE = 0.5
const CART_MEAN_MS = 3 * 3_600_000
const PURCHASE_MEAN_MS = 12 * 3_600_000
const EVENTS_PER_VIEW_MAX = 3
const PLAN_SHARES = [0.6, 0.3, 0.1]

// A name takes the lowest bits of the number that is sorted beside an event's time, its user the rest.
const NAME_BITS = 2
const NAME_MASK = 2 ** NAME_BITS - 1
const USER_COUNT_MAX = 2 ** (32 - NAME_BITS)
const DIGIT_BITS = 11
const DIGIT_MASK = 2 ** DIGIT_BITS - 1
const DIGIT_COUNT = 3
const PICK_BITS = 12

/** Events in time order, one column an array. No two events of one user are of the same millisecond. */
export interface DataSet {
  readonly userCount: number
  readonly seed: number
  readonly startMs: number
  readonly eventCount: number
  /** Below `userCount`; the decimal form is the user id. */
  readonly userId: Uint32Array
  /** Since `startMs`, ascending. */
  readonly timeMs: Uint32Array
  /** An index of `EVENT_NAMES`. */
  readonly name: Uint8Array
  /** An index of `COUNTRIES`, the same for all events of a user. */
  readonly country: Uint8Array
  /** An index of `PLANS`, drawn for each event. */
  readonly plan: Uint8Array
}

/**
 * Makes the data set: two views a user on average, at random times; after 30 % of them a cart, after half
 * of these a purchase, each an exponential time later. What would come after the 30 days is left out. That
 * is 2.89 events a user. `startMs` is a UTC midnight. Takes about 25 bytes an event while it works.
 */
export function makeDataSet(options: {
  readonly userCount: number
  readonly seed: number
  readonly startMs: number
}): DataSet {
  const { userCount, seed, startMs } = options
  assert(userCount > 0 && userCount <= USER_COUNT_MAX && startMs % DAY_MS === 0)
  const drawn = drawEvents(userCount, seed)
  const { timeMs, userAndName: userId } = sortByTime(drawn)
  const eventCount = timeMs.length
  setApart(timeMs, userId)

  const countries = pickerOf(COUNTRIES.map((_, index) => 1 / (index + 1)))
  const plans = pickerOf(PLAN_SHARES)
  const name = new Uint8Array(eventCount)
  const country = new Uint8Array(eventCount)
  const plan = new Uint8Array(eventCount)
  for (let index = 0; index < eventCount; index++) {
    const packed = userId[index]!
    const user = packed >>> NAME_BITS
    userId[index] = user
    name[index] = packed & NAME_MASK
    country[index] = countries[mixed(user ^ seed) >>> (32 - PICK_BITS)]!
    plan[index] = plans[mixed(index + seed) >>> (32 - PICK_BITS)]!
  }
  return { userCount, seed, startMs, eventCount, userId, timeMs, name, country, plan }
}

interface Drawn {
  readonly timeMs: Uint32Array
  readonly userAndName: Uint32Array
}

function drawEvents(userCount: number, seed: number): Drawn {
  const random = randomOf(seed)
  const viewCount = VIEWS_PER_USER * userCount
  const timeMs = new Uint32Array(EVENTS_PER_VIEW_MAX * viewCount)
  const userAndName = new Uint32Array(EVENTS_PER_VIEW_MAX * viewCount)
  // At least 1 ms after its cause.
  const laterMs = (meanMs: number) => 1 + Math.floor(-meanMs * Math.log(1 - random()))
  let count = 0
  for (let view = 0; view < viewCount; view++) {
    const user = Math.floor(random() * userCount)
    let atMs = Math.floor(random() * RANGE_MS)
    for (let name = 0; ; name++) {
      timeMs[count] = atMs
      userAndName[count++] = (user << NAME_BITS) | name
      if (name === EVENT_NAMES.length - 1) break
      if (random() >= (name === 0 ? CART_SHARE : PURCHASE_SHARE)) break
      atMs += laterMs(name === 0 ? CART_MEAN_MS : PURCHASE_MEAN_MS)
      if (atMs >= RANGE_MS) break
    }
  }
  return { timeMs: timeMs.subarray(0, count), userAndName: userAndName.subarray(0, count) }
}

/** A radix sort, the lowest digit first. Overwrites what it is given. */
function sortByTime(drawn: Drawn): Drawn {
  const { length } = drawn.timeMs
  let from = drawn
  let to: Drawn = { timeMs: new Uint32Array(length), userAndName: new Uint32Array(length) }
  for (let digit = 0; digit < DIGIT_COUNT; digit++) {
    sortByDigit(from, to, digit * DIGIT_BITS)
    const sorted = to
    to = from
    from = sorted
  }
  return from
}

function sortByDigit(from: Drawn, to: Drawn, shift: number): void {
  const next = new Uint32Array(DIGIT_MASK + 2)
  for (const atMs of from.timeMs) next[((atMs >>> shift) & DIGIT_MASK) + 1]!++
  for (let digit = 1; digit < next.length; digit++) next[digit]! += next[digit - 1]!
  for (let index = 0; index < from.timeMs.length; index++) {
    const atMs = from.timeMs[index]!
    const place = next[(atMs >>> shift) & DIGIT_MASK]!++
    to.timeMs[place] = atMs
    to.userAndName[place] = from.userAndName[index]!
  }
}

/**
 * Moves an event by 1 ms where its user has another at its time, again and again until there is none. It
 * goes to the end of the events of its time, and so is the first of the next millisecond's.
 */
function setApart(timeMs: Uint32Array, userAndName: Uint32Array): void {
  for (let start = 0; start < timeMs.length; start++) {
    const atMs = timeMs[start]!
    let end = start + 1
    while (end < timeMs.length && timeMs[end] === atMs) {
      if (!hasUser(userAndName, start, end)) end++
      else {
        let last = end
        while (timeMs[last + 1] === atMs) last++
        const moved = userAndName[end]!
        userAndName[end] = userAndName[last]!
        userAndName[last] = moved
        timeMs[last] = atMs + 1
      }
    }
    start = end - 1
  }
}

/** Tells whether the user of the event at `end` has one from `start` to before `end`. */
function hasUser(userAndName: Uint32Array, start: number, end: number): boolean {
  const user = userAndName[end]! >>> NAME_BITS
  for (let index = start; index < end; index++)
    if (userAndName[index]! >>> NAME_BITS === user) return true
  return false
}

/** Returns a table of indexes of `weights`, each as often as its weight: one looks up random bits in it. */
function pickerOf(weights: readonly number[]): Uint8Array {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const table = new Uint8Array(2 ** PICK_BITS)
  let below = 0
  for (const [index, weight] of weights.entries()) {
    table.fill(index, Math.round((below / total) * table.length))
    below += weight
  }
  return table
}

/**
 * Writes the 16 bytes of an event's id, of the form of a UUIDv5. No two indexes below 2³² have the same:
 * the first four bytes are the index, mixed one to one.
 */
export function writeEventId(target: Buffer, offset: number, seed: number, index: number): void {
  let word = index ^ mixed(seed)
  for (let at = 0; at < 16; at += 4) {
    word = mixed(word + 0x9e3779b9)
    target.writeUInt32LE(word, offset + at)
  }
  target[offset + 6] = (target[offset + 6]! & 0x0f) | 0x50
  target[offset + 8] = (target[offset + 8]! & 0x3f) | 0x80
}

/** Mixes 32 bits, one to one: the finalizer of MurmurHash3 (Austin Appleby, public domain). */
function mixed(word: number): number {
  word = Math.imul(word ^ (word >>> 16), 0x85ebca6b)
  word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35)
  return (word ^ (word >>> 16)) >>> 0
}

/** The same numbers from 0 to 1 for the same seed: mulberry32 (Tommy Ettinger, public domain). */
function randomOf(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixture = Math.imul(state ^ (state >>> 15), 1 | state)
    mixture = (mixture + Math.imul(mixture ^ (mixture >>> 7), 61 | mixture)) ^ mixture
    return ((mixture ^ (mixture >>> 14)) >>> 0) / 2 ** 32
  }
}
