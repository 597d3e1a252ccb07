// Goal: however many events one user has, and whatever is asked, a fold is about linear in them: one user, who may be
// an attacker with a public write key, does not stop a worker.
import { expect, test } from 'vitest'
import { PLAIN, type FunnelSpec, type FunnelStep } from '../../../src/analysis/funnel-spec.ts'
import type { TestEvent } from '../../support/columns.ts'
import { foldFunnel } from '../../support/fold-funnel.ts'

const EVENTS = 60_000
/** What was quadratic took minutes; what is linear takes a tenth of this on a slow machine. */
const TIME_MS_MAX = 15_000

const step = (...names: string[]): FunnelStep => ({
  matchers: names.map((eventName) => ({ eventName, where: [] })),
  ...{ isOptional: false, firstTime: null },
})
const optional = (name: string): FunnelStep => ({ ...step(name), isOptional: true })
const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index))
const abc = [step('a'), step('b'), step('c')]
const every = { property: 'k', attribution: 'every', step: 0, limit: 25 } as const
const exclude = [{ matchers: [{ eventName: 'x', where: [] }], afterStep: 0, beforeStep: 1 }]

/** Each `tied` events have one time. */
const events = (nameOf: (index: number) => string, tied = 1): TestEvent[] =>
  times(EVENTS, (index) => ({
    ...{ user: 'u', event: nameOf(index), timeMs: Math.floor(index / tied) },
    properties: { k: `value ${index}` },
  }))
const inTurn = (names: string) => (index: number) => names[index % names.length]!
const lastOnly = (name: string, others: string) => (index: number) =>
  index === EVENTS - 1 ? name : inTurn(others)(index)

const asked: [string, Partial<FunnelSpec>, TestEvent[]][] = [
  ['every value apart', { breakdown: every }, events(inTurn('abc'))],
  ['every value apart, with exclusions', { breakdown: every, exclude }, events(inTurn('abxc'))],
  ['every value apart, strictly', { breakdown: every, order: 'strict' }, events(inTurn('abc'))],
  [
    'any order, a step never left over',
    { order: 'any', steps: [step('a'), step('b'), step('b')] },
    events(lastOnly('b', 'a')),
  ],
  [
    'any order, cut by an exclusion',
    { order: 'any', steps: [step('a'), step('b')], exclude },
    events((index) => (index === EVENTS - 2 ? 'x' : lastOnly('b', 'a')(index))),
  ],
  [
    'any order, with many events of one moment after many entries',
    { order: 'any', steps: [...abc, step('c')] },
    events(lastOnly('c', 'b')).map((event, index) =>
      index < EVENTS / 2 ? { ...event, event: 'a' } : { ...event, timeMs: EVENTS },
    ),
  ],
  [
    'many optional steps that any event can be',
    { steps: [step('a'), ...times(31, () => optional('a'))], windowMs: 20 },
    events(inTurn('a')),
  ],
  [
    'many optional steps, several events a moment',
    { steps: [step('a'), ...times(15, () => optional('a'))], windowMs: 2, timeToConvert: true },
    events(inTurn('a'), 8),
  ],
  [
    'the last of many values of one moment',
    { steps: times(32, () => step('a')), breakdown: { ...every, attribution: 'last' } },
    events(inTurn('a'), EVENTS),
  ],
]

test.each(asked)('%s: a user of many events is folded in seconds', (_name, spec, ofUser) => {
  const range = { windowMs: 1e9, entryStartMs: 0, entryEndMs: 1e9, lastEndMs: Infinity }
  const startMs = performance.now()
  foldFunnel({ ...PLAIN, ...range, steps: abc, ...spec }, ofUser)
  expect(performance.now() - startMs).toBeLessThan(TIME_MS_MAX)
})
