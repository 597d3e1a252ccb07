import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PLAIN, PLAIN_STEP, propertiesOf, type FunnelSpec } from '../../src/analysis/funnel-spec.ts'
import { declareFunnel } from '../../src/analysis/funnel.ts'
import { DAY_MS } from '../../src/event/day.ts'
import { isSampledText } from '../../src/event/bucket.ts'
import { openFolds } from '../../src/query/fold-sections.ts'
import { openValueNumbers } from '../../src/query/number-values.ts'
import { placeSection } from '../../src/query/place-section.ts'
import type { SharedSection } from '../../src/query/worker-messages.ts'
import type { Value } from '../../src/segment/columns.ts'
import { encodeValues } from '../../src/segment/dictionary.ts'
import { daysOf, type TestEvent } from '../support/columns.ts'
import { told } from '../support/fold-funnel.ts'
import { byValue, slowFunnel } from '../support/funnel-oracle.ts'
import { usersOf } from '../support/slow-chains.ts'

// What threads do for a pass, one step after the other: number the values of a class, place, fold.

const names = ['a', 'b', 'c']
const anEvent: fc.Arbitrary<TestEvent> = fc.record({
  user: fc.constantFrom('u1', 'u2', 'u3'),
  event: fc.constantFrom(...names),
  timeMs: fc.nat(9),
  part: fc.nat(2),
  properties: fc.record(
    {
      org: fc.constantFrom<Value>('x', 'y', '', 1, '1', 1.5, '1.5', true, 'true', 'É😀'),
      k: fc.constantFrom<Value>('x', 'y', 1),
    },
    { requiredKeys: [] },
  ),
})
const someEvents = fc.array(anEvent, { maxLength: 24, size: 'max' })

const where = fc.constantFrom(...[[], [], [{ property: 'k', op: 'eq' as const, value: 'x' }]], [
  { property: 'org', op: 'ne' as const, value: 1 },
])
const by = (property: string) => ({ property, attribution: 'first' as const, step: 0, limit: 3 })
const aSpec: fc.Arbitrary<FunnelSpec> = fc
  .record({
    steps: fc.array(
      fc
        .record({ eventName: fc.constantFrom(...names, null), where })
        .map((one) => ({ ...PLAIN_STEP, matchers: [one] })),
      { minLength: 1, maxLength: 4 },
    ),
    windowMs: fc.nat(9),
    breakdown: fc.constantFrom(null, by('k'), by('org')),
    entryEndMs: fc.constantFrom(20, 20, 5),
  })
  .map((spec) => ({ ...PLAIN, ...spec, entryStartMs: 0, lastEndMs: Infinity }))

const classCount = fc.constantFrom(1, 1, 2, 3, 7)
const aSample = fc.constantFrom(1, 1, 0.7, 0.3)

test('a funnel counted by a property is that of each value, whoever the users are', () => {
  fc.assert(
    fc.property(
      aSpec,
      someEvents,
      classCount,
      fc.constantFrom(1, DAY_MS / 4),
      aSample,
      (given, events, count, unitMs, sample) => {
        const spec = {
          ...given,
          windowMs: given.windowMs * unitMs,
          entryEndMs: given.entryEndMs * unitMs,
        }
        const timed = events.map((event) => ({ ...event, timeMs: event.timeMs * unitMs }))
        const ofValues = byValue(timed, 'org').filter(({ user }) => isSampledText(user, sample))
        expect(told(foldByValue(spec, timed, count, sample))).toEqual(slowFunnel(spec, ofValues))
      },
    ),
    { numRuns: 500 },
  )
})

function foldByValue(
  spec: FunnelSpec,
  events: readonly TestEvent[],
  count: number,
  sample: number,
) {
  const kept = propertiesOf(spec)
  const sections = sectionsOf(events, [...new Set([...kept, 'org'])]).filter(({ properties }) =>
    properties.some(({ path }) => path === 'org'),
  )
  const { fold } = openFolds(() => 0)
  const numbers = openValueNumbers()
  const { merge, empty } = declareFunnel(spec)
  let counts = empty()
  for (let index = 0; index < count; index++) {
    let knownCount = 0
    const placed = sections.map((section) => {
      const { values } = section.properties.find(({ path }) => path === 'org')!
      const valueClass = { count, index }
      const numbered = numbers.number({
        ...{ kind: 'number', numbering: `${index}`, knownCount, valueClass, sample },
        bytesMax: 1e6,
        dictionaries: [values],
      })
      knownCount = numbered.knownCount
      const [table] = numbered.tables!
      const task = { section, property: 'org', table: table!, kept, erased: [] }
      return placeSection({ kind: 'place', ...task })
    })
    const folded = fold({
      ...{ kind: 'fold', question: { analysis: 'funnel', spec }, foldGroups: [0] },
      ...{ erased: [], sampled: null },
      sections: placed.map(({ section, runs }) => ({
        ...section,
        runs: runs.filter((_, at) => at % 4 !== 0),
      })),
    })
    counts = merge(counts, folded.counts)
  }
  return counts
}

let sectionCount = 0

function sectionsOf(events: readonly TestEvent[], paths: readonly string[]): SharedSection[] {
  return daysOf(events, () => paths, usersOf(events)).flatMap(({ day, runs }) =>
    runs.map(({ eventName, rowCount, timeMs, user, properties }) => ({
      ...{ eventName, day, rowCount, runs: [] },
      timeMs: shared(timeMs),
      user: shared(user),
      properties: [...properties].map(([path, { codes, values }]) => ({
        ...{ path, codes: shared(codes), codeBytes: codes.BYTES_PER_ELEMENT },
        ...{ values: shared(encodeValues(values)), key: `${sectionCount++}` },
      })),
    })),
  )
}

function shared({ buffer, byteOffset, byteLength }: NodeJS.TypedArray): SharedArrayBuffer {
  const bytes = new SharedArrayBuffer(byteLength)
  new Uint8Array(bytes).set(new Uint8Array(buffer, byteOffset, byteLength))
  return bytes
}

describe('numbers of values', () => {
  const aValue = fc.oneof(fc.nat(20), fc.nat(20).map(String), fc.boolean(), fc.string())
  const dictionaries = fc.array(
    fc.uniqueArray(aValue, { selector: (value) => `${typeof value} ${value}` }),
    { maxLength: 4 },
  )
  const ask = (numbering: string, knownCount: number, count: number, index: number) => ({
    ...{ kind: 'number' as const, numbering, knownCount },
    ...{ valueClass: { count, index }, sample: 1, bytesMax: 1e6 },
  })

  test('are one for each sampled text of a class, counted from 0, and each is of one class', () => {
    fc.assert(
      fc.property(dictionaries, classCount, aSample, (given, count, sample) => {
        const stored = given.map((values) => shared(encodeValues([null, ...values])))
        const all = given.flat().map(String)
        const texts = new Set(all.filter((text) => isSampledText(text, sample)))
        const numbers = openValueNumbers()
        const seen: string[] = []
        for (let index = 0; index < count; index++) {
          const textOf = new Map<number, string>()
          let knownCount = 0
          for (const [at, dictionary] of stored.entries()) {
            const task = {
              ...ask(`${index}`, knownCount, count, index),
              sample,
              dictionaries: [dictionary],
            }
            const numbered = numbers.number(task)
            knownCount = numbered.knownCount
            const table = new Uint32Array(numbered.tables![0]!)
            expect(table[0]).toBe(0)
            for (const [code, value] of given[at]!.entries()) {
              const number = table[code + 1]! - 1
              if (number === -1) continue
              expect(textOf.get(number) ?? String(value)).toBe(String(value))
              textOf.set(number, String(value))
            }
          }
          expect([...textOf.keys()].sort((a, b) => a - b)).toEqual([...textOf.keys()])
          expect(textOf.size).toBe(knownCount)
          seen.push(...textOf.values())
        }
        expect(seen.toSorted()).toEqual([...texts].sort())
      }),
    )
  })

  test('are those of both halves when a class is split', () => {
    const dictionary = shared(encodeValues([null, ...Array.from({ length: 1_000 }, (_, n) => n)]))
    const numbered = (count: number, index: number) =>
      new Uint32Array(
        openValueNumbers().number({ ...ask('n', 0, count, index), dictionaries: [dictionary] })
          .tables![0]!,
      ).map((number) => Math.min(number, 1))
    for (const [count, index] of [
      [1, 0],
      [3, 1],
    ] as const) {
      const halves = [numbered(2 * count, index), numbered(2 * count, index + count)] as const
      for (const half of halves) expect(half.reduce((a, b) => a + b)).toBeGreaterThan(300 / count)
      expect(halves[0].map((is, code) => is + halves[1][code]!)).toEqual(numbered(count, index))
    }
  })

  test('are none where the values take more memory than they may', () => {
    const numbers = openValueNumbers()
    const dictionaries = [shared(encodeValues([null, 'a', 'b', 'c']))]
    const numbered = numbers.number({ ...ask('n', 0, 1, 0), dictionaries, bytesMax: 200 })
    expect(numbered.tables).toBe(null)
    expect(
      numbers.number({ ...ask('m', 0, 1, 0), dictionaries, bytesMax: 300 }).tables,
    ).toHaveLength(1)
  })

  test('are not begun again by a thread that has lost them', () => {
    const numbers = openValueNumbers()
    const dictionaries = [shared(encodeValues([null, 'a', 'b']))]
    const { knownCount } = numbers.number({ ...ask('n', 0, 1, 0), dictionaries })
    expect(knownCount).toBe(2)
    expect(() => openValueNumbers().number({ ...ask('n', 2, 1, 0), dictionaries })).toThrow(/again/)
    numbers.forget('n')
    expect(() => numbers.number({ ...ask('n', 2, 1, 0), dictionaries })).toThrow(/again/)
  })
})
