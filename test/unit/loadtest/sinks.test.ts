import { describe, expect, test } from 'vitest'
import { openMetrics } from '../../../loadtest/runner/metrics.ts'
import { openSink, percentile } from '../../../loadtest/runner/sinks.ts'

const filled = (type: Parameters<typeof openSink>[0], values: readonly number[]) => {
  const sink = openSink(type)
  for (const value of values) sink.add(value)
  return (aggregation: string) => sink.value(aggregation, 2_000)
}

describe('a percentile', () => {
  test.each([
    [0.5, 25],
    [0.9, 37],
    [0, 10],
    [1, 40],
  ])('of %d lies between the two nearest ranks', (fraction, value) => {
    expect(percentile([10, 20, 30, 40], fraction)).toBeCloseTo(value)
  })

  test('of one value is that value, and of none 0', () => {
    expect([percentile([7], 0.99), percentile([], 0.99)]).toEqual([7, 0])
  })
})

describe('a sink', () => {
  test('of a counter sums, negative values too, and tells the rate a second', () => {
    const value = filled('counter', [5, -2, 1])
    expect([value('count'), value('rate'), value('avg')]).toEqual([4, 2, undefined])
  })

  test('of a gauge has the last value, and the least and most', () => {
    const value = filled('gauge', [5, 9, 7])
    expect([value('value'), value('min'), value('max')]).toEqual([7, 5, 9])
  })

  test('of a rate has the share that is not 0, and none of nothing', () => {
    expect(filled('rate', [0, 1, 1, 0, 3])('rate')).toBe(0.6)
    expect(filled('rate', [])('rate')).toBeUndefined()
  })

  test('of a trend is asked in between and again', () => {
    const sink = openSink('trend')
    for (let value = 100; value > 0; value--) sink.add(value)
    expect(sink.value('p(90)', 1)).toBeCloseTo(90.1)
    for (let value = 101; value <= 199; value++) sink.add(value)
    const told = ['min', 'med', 'max', 'avg', 'p(50)'].map((name) => sink.value(name, 1))
    expect(told).toEqual([1, 100, 199, 100, 100])
  })

  test('of an empty trend tells 0', () => {
    const value = filled('trend', [])
    expect(['min', 'med', 'max', 'avg', 'p(95)'].map(value)).toEqual([0, 0, 0, 0, 0])
  })
})

describe('a part of a metric', () => {
  test('has only the values with all of its tags', () => {
    const metrics = openMetrics()
    const part = metrics.find('http_reqs{name:funnel,status:200}')
    metrics.add('http_reqs', 1, { name: 'funnel', status: '200', scenario: 'a' })
    metrics.add('http_reqs', 1, { name: 'funnel', status: '503' })
    metrics.add('http_reqs', 1, { status: '200' })
    expect(part.sink.value('count', 1)).toBe(1)
    expect(metrics.find('http_reqs').sink.value('count', 1)).toBe(3)
  })

  test.each(['nothing', 'checks{', 'checks{tag}', 'checks{}'])('is not %s', (name) => {
    expect(() => openMetrics().find(name)).toThrow()
  })

  test('cannot be of two kinds', () => {
    const metrics = openMetrics()
    metrics.declare('mine', 'rate')
    metrics.declare('mine', 'rate')
    expect(() => metrics.declare('mine', 'trend')).toThrow('it cannot be a trend too')
  })
})
