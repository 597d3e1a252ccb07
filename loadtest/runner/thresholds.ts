import type { Options, Threshold } from 'k6/options'
import { durationMs } from './duration.ts'
import type { Metric, Metrics } from './metrics.ts'
import type { MetricType } from './sinks.ts'

/** Which aggregations a threshold may ask of a metric; `p` stands for `p(N)`. */
const AGGREGATIONS: Record<MetricType, readonly string[]> = {
  counter: ['count', 'rate'],
  gauge: ['value'],
  rate: ['rate'],
  trend: ['avg', 'min', 'max', 'med', 'p'],
}
const EXPRESSION =
  /^\s*(count|rate|value|avg|min|max|med|p\(\s*\d+(?:\.\d+)?\s*\))\s*(<=|>=|===|==|!=|<|>)\s*(-?\d+(?:\.\d+)?)\s*$/

export interface Condition {
  /** As sinks name it: `count`, `p(95)`. */
  readonly aggregation: string
  readonly operator: string
  readonly limit: number
}

/** One threshold on one metric, and how it was when last evaluated. */
export interface MetricThreshold extends Condition {
  readonly source: string
  readonly metric: Metric
  /** Null where a failure does not end the run, else when it first may, since the run began. */
  readonly abortAfterMs: number | null
  isBroken: boolean
  /** What it was compared with; undefined where there was nothing to compare. */
  observed: number | undefined
}

/** Reads an expression such as `p(95)<250` or `count==0`. Throws where k6 would. */
export function parseThreshold(source: string): Condition {
  const match = EXPRESSION.exec(source)
  if (match === null) throw new Error(`"${source}" is no threshold, such as p(95)<250`)
  const [, aggregation = '', operator = '', limit] = match
  return { aggregation: aggregation.replaceAll(/\s/g, ''), operator, limit: Number(limit) }
}

/** The thresholds of a script's options. Throws at unknown metrics and at what a metric cannot tell. */
export function parseThresholds(
  thresholds: Options['thresholds'] = {},
  metrics: Metrics,
): MetricThreshold[] {
  return Object.entries(thresholds).flatMap(([name, list]) => {
    const metric = metrics.find(name)
    return list.map((threshold) => parseOne(threshold, metric))
  })
}

/**
 * Compares all with what was measured so far, and says whether the run is to end for it. Metrics without
 * a value are passed over while the run goes on; at its end only the rate of nothing is, as in k6.
 */
export function evaluate(
  thresholds: readonly MetricThreshold[],
  elapsedMs: number,
  isAtEnd: boolean,
): { readonly mustAbort: boolean } {
  let mustAbort = false
  for (const threshold of thresholds) {
    const { metric, aggregation, abortAfterMs } = threshold
    if (!isAtEnd && metric.sink.isEmpty()) continue
    threshold.observed = metric.sink.value(aggregation, elapsedMs)
    threshold.isBroken = threshold.observed !== undefined && !isMet(threshold, threshold.observed)
    if (threshold.isBroken && abortAfterMs !== null && elapsedMs > abortAfterMs) mustAbort = true
  }
  return { mustAbort }
}

function parseOne(threshold: Threshold, metric: Metric): MetricThreshold {
  const {
    threshold: source,
    abortOnFail = false,
    delayAbortEval = 0,
  } = typeof threshold === 'string' ? { threshold } : threshold
  const condition = parseThreshold(source)
  const allowed = AGGREGATIONS[metric.type]
  if (!allowed.includes(condition.aggregation.replace(/\(.*/, '')))
    throw new Error(
      `a ${metric.type} such as ${metric.name} has no ${condition.aggregation}, only ${allowed.join(', ')}`,
    )
  const abortAfterMs = abortOnFail ? durationMs(delayAbortEval) : null
  return { ...condition, source, metric, abortAfterMs, isBroken: false, observed: undefined }
}

function isMet({ operator, limit }: Condition, observed: number): boolean {
  switch (operator) {
    case '<':
      return observed < limit
    case '<=':
      return observed <= limit
    case '>':
      return observed > limit
    case '>=':
      return observed >= limit
    case '!=':
      return observed !== limit
    default:
      return observed === limit
  }
}
