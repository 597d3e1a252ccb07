import { describe, expect, test } from 'vitest'
import { openMetrics } from '../../../loadtest/runner/metrics.ts'
import { evaluate, parseThreshold, parseThresholds } from '../../../loadtest/runner/thresholds.ts'

describe('a threshold', () => {
  test.each([
    ['p(95)<250', 'p(95)', '<', 250],
    ['p( 99.9 ) <= 1.5', 'p(99.9)', '<=', 1.5],
    ['count == 0', 'count', '==', 0],
    ['rate>0.99', 'rate', '>', 0.99],
    ['value>=-3', 'value', '>=', -3],
  ])('%s is read', (source, aggregation, operator, limit) => {
    expect(parseThreshold(source)).toEqual({ aggregation, operator, limit })
  })

  test.each([
    '',
    'p95<250',
    'p(95)',
    'p(95)<',
    'rate<1%',
    'p(95)=5',
    'mode<5',
    'count<1 && rate<1',
  ])('is not %j', (source) => {
    expect(() => parseThreshold(source)).toThrow('is no threshold')
  })

  test.each([
    ['http_reqs', 'p(95)<1'],
    ['checks', 'count>1'],
    ['http_req_duration', 'rate<1'],
    ['vus', 'max<1'],
  ])('of %s cannot be %s', (metric, threshold) => {
    expect(() => parseThresholds({ [metric]: [threshold] }, openMetrics())).toThrow('only')
  })

  test.each([
    ['count<2', [true, false, false]],
    ['count<=2', [true, true, false]],
    ['count>2', [false, false, true]],
    ['count>=2', [false, true, true]],
    ['count==2', [false, true, false]],
    ['count===2', [false, true, false]],
    ['count!=2', [true, false, true]],
  ])('%s is met by 1, 2, 3: %j', (source, met) => {
    const found = [1, 2, 3].map((count) => {
      const metrics = openMetrics()
      const thresholds = parseThresholds({ http_reqs: [source] }, metrics)
      metrics.add('http_reqs', count, {})
      evaluate(thresholds, 1_000, true)
      return !thresholds[0]!.isBroken
    })
    expect(found).toEqual(met)
  })

  test('that was broken for a while and is met at the end is met', () => {
    const metrics = openMetrics()
    const thresholds = parseThresholds({ http_reqs: ['count<=0'] }, metrics)
    metrics.add('http_reqs', 3, {})
    evaluate(thresholds, 1_000, false)
    expect(thresholds[0]!.isBroken).toBe(true)
    metrics.add('http_reqs', -3, {})
    evaluate(thresholds, 2_000, true)
    expect(thresholds[0]!.isBroken).toBe(false)
  })

  test('on nothing counts only at the end, and a rate of nothing not at all', () => {
    const metrics = openMetrics()
    const thresholds = parseThresholds({ http_reqs: ['count>0'], checks: ['rate==1'] }, metrics)
    evaluate(thresholds, 1_000, false)
    expect(thresholds.map(({ isBroken }) => isBroken)).toEqual([false, false])
    evaluate(thresholds, 1_000, true)
    expect(thresholds.map(({ isBroken }) => isBroken)).toEqual([true, false])
  })

  test('ends the run only if it says so, and only after its delay', () => {
    const metrics = openMetrics()
    const threshold = { threshold: 'count<1', abortOnFail: true, delayAbortEval: '5s' }
    const patient = parseThresholds({ http_reqs: ['count<1', threshold] }, metrics)
    metrics.add('http_reqs', 1, {})
    const mustAbort = [4_000, 6_000].map((ms) => evaluate(patient, ms, false).mustAbort)
    expect(mustAbort).toEqual([false, true])
    expect(evaluate(patient.slice(0, 1), 6_000, false).mustAbort).toBe(false)
  })
})
