import { describe, expect, test } from 'vitest'
import { AppError } from '../../../src/error.ts'
import { checked } from '../../../src/wire/check.ts'
import { FunnelQuery } from '../../../src/wire/funnel-query.ts'

const STEPS = [{ event: 'page_view' }, { event: 'purchase' }]
const DAY_MS = 86_400_000

const ask = (part: object) => checked(FunnelQuery, { steps: STEPS, ...part }, 'INVALID_QUERY')

function faultsOf(part: object): string[] {
  try {
    ask(part)
  } catch (error) {
    if (error instanceof AppError) return error.faults.map(({ path }) => path)
    throw error
  }
  return []
}

describe('a funnel', () => {
  test('needs its steps and nothing else', () => {
    expect(ask({})).toMatchObject({
      steps: [
        { event: 'page_view', where: [] },
        { event: 'purchase', where: [] },
      ],
      ...{ windowMs: 14 * DAY_MS, rangeBounds: 'entry', breakdown: null, source: 'segments' },
    })
  })

  test.each([
    ['500ms', 500],
    ['90s', 90_000],
    ['30m', 1_800_000],
    ['12h', 43_200_000],
    ['14d', 14 * DAY_MS],
    ['2w', 14 * DAY_MS],
    ['0m', 0],
  ])('has a window of %s', (window, windowMs) => {
    expect(ask({ window }).windowMs).toBe(windowMs)
    expect(ask({ windowMs }).windowMs).toBe(windowMs)
  })

  test.each(['', '7', 'd', '1.5d', '-1d', '7 d', '7D', '1y', '1d12h', '10000000000d'])(
    'has no window of %j',
    (window) => {
      expect(faultsOf({ window })).toEqual(['window'])
    },
  )

  test('has one window', () => {
    expect(faultsOf({ window: '1d', windowMs: 1 })).toEqual(['window'])
    expect(faultsOf({ windowMs: -1 })).toEqual(['windowMs'])
    expect(faultsOf({ windowMs: 0.5 })).toEqual(['windowMs'])
  })

  test('has 1 to 32 steps', () => {
    const steps = (count: number) => ({ steps: Array.from({ length: count }, () => STEPS[0]) })
    expect(ask(steps(32)).steps).toHaveLength(32)
    expect(faultsOf(steps(33))).toEqual(['steps'])
    expect(faultsOf(steps(0))).toEqual(['steps'])
  })

  test('tells all its faults together, each with its path', () => {
    const steps = [{ event: '' }, { event: 'a', where: [{ property: 'p', op: 'like' }] }, {}]
    expect(faultsOf({ steps, window: 'long', source: 'guess' })).toEqual([
      ...['steps.0.event', 'steps.1.where.0.op', 'steps.2', 'window', 'source'],
    ])
  })

  test('takes every field of the contract, and says what it means where it says nothing', () => {
    expect(ask({})).toMatchObject({
      ...{ order: 'ordered', entry: 'best', exclude: [], count: 'users', hold: [] },
      ...{ breakdown: null, trend: null, compare: null, timeToConvert: false, sample: 1 },
    })
    const steps = [{ event: 'a' }, { event: 'b', optional: true }, { event: 'c' }]
    const all = {
      ...{ steps, order: 'strict', entry: 'first', count: 'attempts', hold: ['org'] },
      exclude: [
        { event: 'logout', beforeStep: 3 },
        { event: 'x', where: [{ property: 'p', value: 1 }], beforeStep: 3 },
      ],
      breakdown: { property: 'p', attribution: 'step', step: 3 },
      ...{ trend: 'week', compare: 'previous', timeToConvert: true, sample: 0.1 },
    }
    expect(ask(all)).toMatchObject({ ...all, exclude: [{ afterStep: 1 }, { afterStep: 1 }] })
    expect(ask({ trend: 'none', compare: 'none' })).toMatchObject({ trend: null, compare: null })
  })

  test('excludes between a step and the next, if it does not say otherwise', () => {
    const steps = ['a', 'b', 'c'].map((event) => ({ event }))
    const excluded = (exclude: object) =>
      ask({ steps, exclude: [{ event: 'x', ...exclude }] }).exclude
    expect(excluded({})).toMatchObject([{ afterStep: 1, beforeStep: 2 }])
    expect(excluded({ afterStep: 2 })).toMatchObject([{ afterStep: 2, beforeStep: 3 }])
    expect(excluded({ beforeStep: 3 })).toMatchObject([{ afterStep: 1, beforeStep: 3 }])
  })

  test.each([
    ['order', { order: 'sorted' }],
    ['order', { order: 'any', steps: [{ event: 'a' }, { event: 'b', optional: true }] }],
    ['entry', { entry: 'last' }],
    ['exclude', { exclude: [{ event: 'x', afterStep: 2, beforeStep: 2 }] }],
    ['exclude', { exclude: [{ event: 'x', beforeStep: 3 }] }],
    ['exclude', { exclude: [{ event: 'x' }], steps: [{ event: 'a' }] }],
    [
      'exclude',
      { exclude: [{ event: 'x', afterStep: 2 }], steps: [{ event: 'a' }, { event: 'b' }] },
    ],
    ['hold', { hold: [''] }],
    ['breakdown', { breakdown: { property: 'p', step: 3 } }],
    ['breakdown', { breakdown: { property: 'p', attribution: 'middle' } }],
    ['trend', { trend: 'year' }],
    ['compare', { compare: 'next' }],
    ['compare', { compare: { from: '2026-01-01' } }],
    ['timeToConvert', { timeToConvert: 'yes' }],
    ['sample', { sample: 0 }],
    ['sample', { sample: 1.1 }],
  ])('is refused for its %s: %j', (path, part) => {
    const two = { steps: [{ event: 'a' }, { event: 'b' }] }
    expect(faultsOf({ ...two, ...part }).map((fault) => fault.split('.')[0])).toEqual([path])
  })

  test('counts users, or the values of a property', () => {
    expect(ask({}).count).toBe('users')
    expect(ask({ count: 'users' }).count).toBe('users')
    expect(ask({ count: { property: 'org.id' } }).count).toEqual({ property: 'org.id' })
    for (const count of [{}, { property: '' }, { property: 'a', b: 1 }, { property: 1 }, null])
      expect(faultsOf({ count }).map((path) => path.split('.')[0])).toEqual(['count'])
  })

  test('with a field that nobody knows is refused', () => {
    expect(faultsOf({ windw: '1d' })).toHaveLength(1)
    expect(faultsOf({ steps: [{ event: 'a', wher: [] }] })).toEqual(['steps.0'])
  })
})

describe('a step', () => {
  test('is of an event, of any of some, or of any event', () => {
    const steps = [
      { event: 'a' },
      { anyOf: ['b', { event: 'c', where: [{ property: 'p', value: 1 }] }] },
      { anyEvent: true },
    ]
    expect(ask({ steps }).steps).toMatchObject([
      { event: 'a' },
      {
        anyOf: [
          { event: 'b', where: [] },
          { event: 'c', where: [{ property: 'p', op: 'eq', value: 1 }] },
        ],
      },
      { anyEvent: true },
    ])
  })

  test.each([{}, { event: 'a', anyOf: ['b'] }, { event: 'a', anyEvent: true }])(
    'is one of these, which %j is not',
    (step) => {
      expect(faultsOf({ steps: [step] })).toEqual(['steps.0'])
    },
  )

  test('may be optional, but for the first, and the first of its name', () => {
    const steps = [
      { event: 'a', firstTime: true },
      { event: 'b', optional: true, firstTime: 'matching' },
    ]
    expect(ask({ steps }).steps).toMatchObject(steps)
    expect(faultsOf({ steps: [{ event: 'a', optional: true }] })).toEqual(['steps.0.optional'])
    expect(faultsOf({ steps: [{ event: 'a', firstTime: 'last' }] })).toEqual(['steps.0.firstTime'])
  })
})
