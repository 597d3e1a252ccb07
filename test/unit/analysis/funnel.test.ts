import { expect, test } from 'vitest'
import {
  eventNamesOf,
  PLAIN,
  PLAIN_STEP,
  propertiesOf,
  type FunnelSpec,
  type FunnelStep,
} from '../../../src/analysis/funnel-spec.ts'
import { declareFunnel } from '../../../src/analysis/funnel.ts'
import type { FunnelCounts } from '../../../src/analysis/tally.ts'
import type { TestEvent } from '../../support/columns.ts'
import { foldFunnel } from '../../support/fold-funnel.ts'

const named = (...names: string[]): FunnelStep => ({
  ...PLAIN_STEP,
  matchers: names.map((eventName) => ({ eventName, where: [] })),
})

const aSpec = (spec: Partial<FunnelSpec>): FunnelSpec => ({
  ...PLAIN,
  steps: [named('A'), named('B')],
  windowMs: 1_000,
  entryStartMs: 0,
  entryEndMs: 1_000_000,
  lastEndMs: Infinity,
  ...spec,
})

const byK = { property: 'k', attribution: 'first', step: 0, limit: 25 } as const

const anEvent = (event: string, timeMs: number, k?: string): TestEvent => ({
  ...{ user: 'u', event, timeMs },
  ...(k !== undefined && { properties: { k } }),
})

const tally = (users: readonly number[]) => ({ users, times: null })
const ofValues = (values: [string | null, number[]][]): FunnelCounts['breakdown'] =>
  new Map(values.map(([text, users]) => [text, tally(users)]))
const countsOf = (values: [string | null, number[]][]): FunnelCounts => ({
  ...tally(values.reduce((sums, [, users]) => sums.map((sum, i) => sum + users[i]!), [0, 0])),
  ...{ breakdown: ofValues(values), trend: null },
})

const NO_TIMES = { medianMs: null, meanMs: null, p90Ms: null }

test('nobody makes zeros: no share is NaN', () => {
  const funnel = declareFunnel(aSpec({}))
  const nothing = { users: 0, fromPrevious: 0, fromFirst: 0, ...NO_TIMES }
  const rest = { trend: null, timeToConvert: null }
  expect(funnel.result(funnel.empty())).toEqual({
    ...{ steps: [nothing, nothing], breakdown: null, ...rest },
  })
  const broken = declareFunnel(aSpec({ breakdown: byK }))
  expect(broken.result(broken.empty())).toEqual({
    ...{ steps: [nothing, nothing], breakdown: [], ...rest },
  })
})

test('shares are of the step before and of the first', () => {
  const { result } = declareFunnel(aSpec({ steps: [named('A'), named('B'), named('C')] }))
  expect(result({ ...tally([8, 4, 1]), breakdown: null, trend: null }).steps).toEqual([
    { users: 8, fromPrevious: 1, fromFirst: 1, ...NO_TIMES },
    { users: 4, fromPrevious: 0.5, fromFirst: 0.5, ...NO_TIMES },
    { users: 1, fromPrevious: 0.25, fromFirst: 0.125, ...NO_TIMES },
  ])
  expect(result({ ...tally([8, 0, 0]), breakdown: null, trend: null }).steps[2]).toEqual({
    ...{ users: 0, fromPrevious: 0, fromFirst: 0, ...NO_TIMES },
  })
})

test('a breakdown shows the largest values, then the others, then the users without one', () => {
  const { result } = declareFunnel(aSpec({ breakdown: { ...byK, limit: 2 } }))
  const counts = countsOf([
    ['z', [1, 0]],
    ['b', [3, 1]],
    [null, [9, 9]],
    ['c', [5, 5]],
    ['a', [3, 2]],
  ])
  const shown = result(counts).breakdown!.map(({ value, steps }) => [
    value,
    ...steps.map(({ users }) => users),
  ])
  expect(shown).toEqual([
    ['c', 5, 5],
    ['a', 3, 2],
    ['$other', 4, 1],
    ['$none', 9, 9],
  ])
})

test('values that read like the names of the rest are counted there, and against no limit', () => {
  const { result } = declareFunnel(aSpec({ breakdown: { ...byK, limit: 1 } }))
  const counts = countsOf([
    ['$none', [7, 1]],
    ['$other', [8, 2]],
    ['a', [1, 1]],
    [null, [1, 0]],
  ])
  const shown = result(counts).breakdown!.map(({ value, steps }) => [value, steps[0]!.users])
  expect(shown).toEqual([
    ['a', 1],
    ['$other', 8],
    ['$none', 8],
  ])
})

test('a user counts under the earliest of the entries with the longest chain', () => {
  const events = [anEvent('A', 0, 'dropped'), anEvent('A', 5_000, 'early')]
  const converted = [...events, anEvent('A', 5_500, 'late'), anEvent('B', 5_900)]
  expect(foldFunnel(aSpec({ breakdown: byK }), events).breakdown).toEqual(
    ofValues([['dropped', [1, 0]]]),
  )
  expect(foldFunnel(aSpec({ breakdown: byK }), converted).breakdown).toEqual(
    ofValues([['early', [1, 1]]]),
  )
})

test('of entries of one moment the smallest value counts, and a missing one last', () => {
  const tied = [anEvent('A', 5), anEvent('A', 5, 'y'), anEvent('A', 5, 'x'), anEvent('B', 5)]
  expect(foldFunnel(aSpec({ breakdown: byK }), tied).breakdown).toEqual(ofValues([['x', [1, 1]]]))
})

test('32 steps are told apart, one after the other and all at one moment', () => {
  const names = Array.from({ length: 32 }, (_, step) => `S${step + 1}`)
  const spec = aSpec({ steps: names.map((name) => named(name)), breakdown: byK })
  const one = names.map(() => 1)
  const all = { ...tally(one), breakdown: ofValues([['x', one]]), trend: null }
  const inOrder = names.map((name, step) => anEvent(name, step, 'x'))
  expect(foldFunnel(spec, inOrder)).toEqual(all)
  const atOnce = names.toReversed().map((name) => anEvent(name, 7, 'x'))
  expect(foldFunnel(spec, atOnce)).toEqual(all)
})

test.each([
  {},
  { order: 'strict' },
  { count: 'attempts' },
  { entry: 'first', timeToConvert: true },
  { breakdown: { property: 'k', attribution: 'step', step: 31, limit: 1 } },
  { breakdown: { property: 'k', attribution: 'every', step: 0, limit: 1 } },
] as const)('32 steps, some of them optional, and 32 exclusions are told apart: %j', (more) => {
  const names = Array.from({ length: 32 }, (_, step) => `S${step + 1}`)
  const steps = names.map((name, step) => ({ ...named(name), isOptional: [1, 29].includes(step) }))
  const exclude = names.map((_, index) => ({
    ...{ matchers: [{ eventName: `X${index}`, where: [] }], afterStep: 30, beforeStep: 31 },
  }))
  const spec = aSpec({ steps, exclude, ...more })
  const usersOf = (events: TestEvent[]) => foldFunnel(spec, events).users
  const inOrder = names.map((name, step) => anEvent(name, 10 * step, 'x'))
  const atOnce = inOrder.toReversed().map((event) => ({ ...event, timeMs: 7 }))
  expect(usersOf(inOrder)).toEqual(names.map(() => 1))
  expect(usersOf(atOnce)).toEqual(names.map(() => 1))
  const reached = 'count' in more ? [...names.slice(1).map(() => 1), 0] : names.map(() => 0)
  expect(usersOf([...inOrder, anEvent('X31', 305, 'x')])).toEqual(reached)
})

test('32 steps in any order are told apart, one after the other and all at one moment', () => {
  const names = Array.from({ length: 32 }, (_, step) => `S${step + 1}`)
  const spec = aSpec({ steps: names.map((name) => named(name)), order: 'any' })
  for (const spreadMs of [1, 0]) {
    const events = names.toReversed().map((name, at) => anEvent(name, at * spreadMs))
    expect(foldFunnel(spec, events).users).toEqual(names.map(() => 1))
    expect(foldFunnel(spec, events.slice(1)).users).toEqual([...names.slice(1).map(() => 1), 0])
  }
})

test('a user with 50,000 entries within one window, or at one moment, is counted', () => {
  const spec = aSpec({
    steps: [named('A'), named('A', 'B'), named('B'), named('A')],
    windowMs: 100_000,
    breakdown: byK,
  })
  for (const spreadMs of [1, 0]) {
    const entries = Array.from({ length: 50_000 }, (_, n) => anEvent('A', n * spreadMs, `v${n}`))
    const end = [anEvent('B', 50_000), anEvent('A', 50_000, 'end')]
    expect(foldFunnel(spec, [...entries, ...end])).toEqual({
      ...tally([1, 1, 1, 1]),
      ...{ breakdown: ofValues([['v0', [1, 1, 1, 1]]]), trend: null },
    })
  }
})

test('a user with 50,000 events is counted in time where most of them lead nowhere', () => {
  const repeats = (event: string) =>
    Array.from({ length: 50_000 }, (_, n) => anEvent(event, n, `v${n}`))
  const windowMs = 100_000
  // Each entry has all steps in its window, and the last event is one of two of them.
  const any = aSpec({ steps: [named('A'), named('A'), named('B')], windowMs, order: 'any' })
  expect(foldFunnel(any, [...repeats('B'), anEvent('A', 60_000)]).users).toEqual([1, 1, 0])
  const every = aSpec({ windowMs, breakdown: { ...byK, attribution: 'every' } })
  expect(foldFunnel(every, repeats('A')).breakdown!.size).toBe(50_000)
})

const aRun = (eventName: string, times: number[], users: number[]) => ({
  ...{ eventName, rowCount: times.length, timeMs: Uint32Array.from(times) },
  ...{ user: Uint16Array.from(users), properties: new Map() },
})

test('rows that are not in time order are refused', () => {
  const runs = [aRun('A', [2, 1], [0, 0])]
  expect(() => declareFunnel(aSpec({})).openGroup(1).fold({ day: 0, runs })).toThrow('time order')
  const merged = [...runs, aRun('B', [1, 3], [0, 0])]
  expect(() => declareFunnel(aSpec({})).openGroup(1).fold({ day: 0, runs: merged })).toThrow(
    'time order',
  )
})

test('a user who is not of the group is refused', () => {
  const runs = [aRun('A', [1], [1])]
  expect(() => declareFunnel(aSpec({})).openGroup(1).fold({ day: 0, runs })).toThrow('of the group')
})

test('days that are not in ascending order, or after the end, are refused', () => {
  const group = declareFunnel(aSpec({})).openGroup(1)
  group.fold({ day: 3, runs: [] })
  expect(() => group.fold({ day: 3, runs: [] })).toThrow('ascending')
  group.close()
  expect(() => group.fold({ day: 4, runs: [] })).toThrow('ascending')
})

test('groups that are open at once, and those after them, know nothing of one another', () => {
  const { openGroup } = declareFunnel(aSpec({ breakdown: byK }))
  const converted = { day: 0, runs: [aRun('A', [1, 1], [0, 1]), aRun('B', [2, 2], [0, 1])] }
  const [first, second] = [openGroup(2), openGroup(2)]
  first.fold(converted)
  second.fold({ day: 0, runs: [aRun('B', [3], [1])] })
  expect(first.close().users).toEqual([2, 2])
  const third = openGroup(3)
  third.fold({ day: 0, runs: [aRun('A', [9], [2]), aRun('B', [9, 9], [0, 1])] })
  expect(second.close().users).toEqual([0, 0])
  expect(third.close().users).toEqual([1, 0])
})

test('the properties and the event names that a funnel reads are named once', () => {
  const where = [{ property: 'path', op: 'eq', value: '/' } as const]
  const steps = [
    { ...PLAIN_STEP, matchers: [{ eventName: 'A', where }] },
    {
      ...PLAIN_STEP,
      matchers: [
        { eventName: 'B', where: [] },
        { eventName: 'A', where },
      ],
    },
  ]
  expect(propertiesOf(aSpec({ steps }))).toEqual(['path'])
  expect(propertiesOf(aSpec({ steps, breakdown: byK }))).toEqual(['path', 'k'])
  const ofName = (name: string) => propertiesOf(aSpec({ steps, breakdown: byK }), name)
  expect([ofName('A'), ofName('B'), ofName('C')]).toEqual([['path', 'k'], ['k'], []])
  expect(eventNamesOf(aSpec({ steps }))).toEqual(['A', 'B'])
  const anyEvent = { ...PLAIN_STEP, matchers: [{ eventName: null, where: [] }] }
  expect(eventNamesOf(aSpec({ steps: [...steps, anyEvent] }))).toBeNull()
})
