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

  test.each([
    { order: 'any' },
    { order: 'strict' },
    { entry: 'first' },
    { exclude: [{ event: 'logout' }] },
    { count: 'sessions' },
    { count: 'attempts' },
    { hold: ['org'] },
    { trend: 'day' },
    { compare: 'previous' },
    { timeToConvert: true },
    { sample: 0.1 },
  ])('that this version cannot answer is refused by name: %j', (part) => {
    const [path] = faultsOf(part)
    expect(path?.split('.')[0]).toBe(Object.keys(part)[0])
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

  test('is not yet optional, or the first of its name', () => {
    expect(faultsOf({ steps: [{ event: 'a', optional: true }] })).toEqual(['steps.0.optional'])
    expect(faultsOf({ steps: [{ event: 'a', firstTime: true }] })).toEqual(['steps.0.firstTime'])
    expect(faultsOf({ steps: [{ event: 'a', optional: false, firstTime: false }] })).toEqual([])
  })
})
