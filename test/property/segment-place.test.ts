import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  FOLD_GROUP_USERS,
  placeOf,
  READ_GROUP_COUNTS,
  readGroupCountFor,
  userNumberAt,
  USERS_PER_BUCKET_MAX,
} from '../../src/segment/place.ts'
import { replaceRows, type PlacedRows } from '../../src/segment/replace.ts'

const USER_NUMBER_MAX = 2 ** 32 - 1
const readGroupCount = fc.constantFrom(...READ_GROUP_COUNTS)
const userNumber = fc.oneof(
  fc.integer({ min: 0, max: 5_000 }),
  fc.integer({ min: 0, max: USER_NUMBER_MAX }),
  fc.integer({ min: USER_NUMBER_MAX - 5_000, max: USER_NUMBER_MAX }),
  // About the borders of fold groups, for each width of a read group.
  fc
    .tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: -300, max: 300 }), readGroupCount)
    .map(([group, by, count]) => group * FOLD_GROUP_USERS * count + by),
)

describe('the place of a user', () => {
  test('leads back to the user', () => {
    fc.assert(
      fc.property(userNumber, readGroupCount, (number, count) => {
        const place = placeOf(number, count)
        expect(userNumberAt(place, count)).toBe(number)
        expect(place.readGroup).toBeLessThan(count)
        expect(place.position).toBeLessThan(FOLD_GROUP_USERS)
      }),
      { numRuns: 1_000 },
    )
  })

  test('is what it is defined to be', () => {
    fc.assert(
      fc.property(userNumber, readGroupCount, (number, count) => {
        const width = BigInt(1_000 / count)
        const [n, bucket] = [BigInt(number) / 1_000n, BigInt(number) % 1_000n]
        const first = (bucket / width) * width
        const position = n * width + bucket - first
        expect(placeOf(number, count)).toEqual({
          readGroup: Number(bucket / width),
          foldGroup: Number(position / 65_536n),
          position: Number(position % 65_536n),
        })
      }),
      { numRuns: 1_000 },
    )
  })

  test.each(READ_GROUP_COUNTS)('is its own, of %i read groups', (count) => {
    const taken = new Set<string>()
    for (let number = 0; number < 20_000; number++)
      taken.add(Object.values(placeOf(number, count)).join())
    expect(taken.size).toBe(20_000)
  })

  test('lies in the first fold group while users are few', () => {
    for (const count of READ_GROUP_COUNTS)
      for (const number of [0, 999, 1_000, 65_535]) expect(placeOf(number, count).foldGroup).toBe(0)
  })
})

test('the last user that a bucket may have is a uint32, the next is not', () => {
  expect(USERS_PER_BUCKET_MAX * 1_000 + 999).toBeLessThanOrEqual(USER_NUMBER_MAX)
  expect((USERS_PER_BUCKET_MAX + 1) * 1_000 + 999).toBeGreaterThan(USER_NUMBER_MAX)
})

test.each([
  [0, 1],
  [2_000_000, 1],
  [2_000_001, 5],
  [10_000_000, 5],
  [10_000_001, 25],
  [50_000_001, 125],
  [4_000_000_000, 125],
])('a project of %i users has %i read groups', (userCount, count) => {
  expect(readGroupCountFor(userCount)).toBe(count)
})

const COARSER = [
  [5, 1],
  [25, 1],
  [25, 5],
  [125, 1],
  [125, 5],
  [125, 25],
] as const
interface PlacedEvent {
  readonly userNumber: number
  readonly timeMs: number
  readonly code: number
}
const event: fc.Arbitrary<PlacedEvent> = fc.record({
  userNumber,
  timeMs: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 86_399_999 })),
  code: fc.integer({ min: 0, max: 255 }),
})

describe('rows placed anew', () => {
  const given = fc.array(event, { maxLength: 60 })

  test('are the same events, each where fewer read groups have it, in time order within a run', () => {
    fc.assert(
      fc.property(given, fc.constantFrom(...COARSER), (events, [from, to]) => {
        const rows = placed(events, from)
        const target = emptyRows(events.length)
        const runs = replaceRows(rows, { from, to }, target)
        expect(texts(eventsOf({ ...target, runs }, to))).toEqual(texts(events))
        expectInOrder({ ...target, runs })
      }),
      { numRuns: 300 },
    )
  })

  test('twice are as placed at once', () => {
    fc.assert(
      fc.property(given, (events) => {
        const [fine, coarse] = [emptyRows(events.length), emptyRows(events.length)]
        const runs = replaceRows(placed(events, 125), { from: 125, to: 25 }, fine)
        const again = replaceRows({ ...fine, runs }, { from: 25, to: 1 }, coarse)
        expect(texts(eventsOf({ ...coarse, runs: again }, 1))).toEqual(texts(events))
        expectInOrder({ ...coarse, runs: again })
      }),
    )
  })

  test('may be some of a section, that begin at any row', () => {
    const events = Array.from({ length: 200 }, (_, code) => ({
      ...{ userNumber: code * 65_521, timeMs: code % 7, code },
    }))
    const rows = placed(events, 25)
    const runs = rows.runs.slice(40, 80)
    const expected = eventsOf({ ...rows, runs }, 25)
    const target = emptyRows(expected.length)
    const anew = replaceRows({ ...rows, runs }, { from: 25, to: 5 }, target)
    expect(texts(eventsOf({ ...target, runs: anew }, 5))).toEqual(texts(expected))
  })
})

function emptyRows(count: number) {
  return {
    timeMs: new Uint32Array(count),
    user: new Uint16Array(count),
    codes: [new Uint8Array(count), new Uint16Array(count), new Uint32Array(count)],
  }
}

/** Places events by sorting them; their codes in all three widths. */
function placed(events: readonly PlacedEvent[], count: number): PlacedRows {
  const rows = emptyRows(events.length)
  const runs: number[] = []
  const sorted = events
    .map((one) => ({ ...one, place: placeOf(one.userNumber, count) }))
    .sort(
      (a, b) =>
        a.place.readGroup - b.place.readGroup ||
        a.place.foldGroup - b.place.foldGroup ||
        a.timeMs - b.timeMs,
    )
  for (const [row, { place, timeMs, code }] of sorted.entries()) {
    rows.timeMs[row] = timeMs
    rows.user[row] = place.position
    for (const [index, codes] of rows.codes.entries()) codes[row] = code * 256 ** index
    const [readGroup, foldGroup] = runs.slice(-4)
    if (readGroup === place.readGroup && foldGroup === place.foldGroup) runs[runs.length - 1]!++
    else runs.push(place.readGroup, place.foldGroup, row, row + 1)
  }
  return { ...rows, runs }
}

function eventsOf({ timeMs, user, codes, runs }: PlacedRows, count: number): PlacedEvent[] {
  const events: PlacedEvent[] = []
  for (let at = 0; at < runs.length; at += 4) {
    const [readGroup, foldGroup, first, last] = runs.slice(at, at + 4) as [
      number,
      number,
      number,
      number,
    ]
    for (let row = first; row < last; row++) {
      const code = codes[0]![row]!
      expect(codes.map((ofWidth) => ofWidth[row])).toEqual([code, code * 256, code * 65_536])
      const userAt = userNumberAt({ readGroup, foldGroup, position: user[row]! }, count)
      events.push({ userNumber: userAt, timeMs: timeMs[row]!, code })
    }
  }
  return events
}

function expectInOrder({ timeMs, runs }: PlacedRows): void {
  let end = 0
  for (let at = 0; at < runs.length; at += 4) {
    const [first, last] = [runs[at + 2]!, runs[at + 3]!]
    expect(first).toBe(end)
    expect(last).toBeGreaterThan(first)
    for (let row = first + 1; row < last; row++)
      expect(timeMs[row]).toBeGreaterThanOrEqual(timeMs[row - 1]!)
    end = last
  }
  expect(end).toBe(timeMs.length)
}

function texts(events: readonly PlacedEvent[]): string[] {
  return events.map(({ userNumber: of, timeMs, code }) => `${of} ${timeMs} ${code}`).sort()
}
