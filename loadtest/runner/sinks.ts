/** What is kept of a metric's values, and what can be asked of it: as k6's four kinds of metric have it. */

export type MetricType = 'counter' | 'gauge' | 'rate' | 'trend'

export interface Sink {
  add(value: number): void
  readonly isEmpty: () => boolean
  /**
   * An aggregation by its k6 name: `count`, `rate`, `value`, `avg`, `min`, `med`, `max`, `p(95)`.
   * Undefined where this kind of metric has none of that name, or the rate of nothing is asked.
   */
  readonly value: (aggregation: string, elapsedMs: number) => number | undefined
}

/** Trends keep every value: 8 bytes each, and percentiles are exact (k6 itself keeps a histogram). */
export function openSink(type: MetricType): Sink {
  switch (type) {
    case 'counter':
      return openCounter()
    case 'gauge':
      return openGauge()
    case 'rate':
      return openRate()
    case 'trend':
      return openTrend()
  }
}

/** Between the two nearest ranks by straight line, `fraction` from 0 to 1; 0 of no values. `sorted` ascends. */
export function percentile(sorted: ArrayLike<number>, fraction: number): number {
  if (sorted.length === 0) return 0
  const rank = fraction * (sorted.length - 1)
  const below = sorted[Math.floor(rank)]!
  const above = sorted[Math.ceil(rank)]!
  return below + (above - below) * (rank - Math.floor(rank))
}

function openCounter(): Sink {
  let [sum, isEmpty] = [0, true]
  return {
    add(value) {
      sum += value
      isEmpty = false
    },
    isEmpty: () => isEmpty,
    value(aggregation, elapsedMs) {
      if (aggregation === 'count') return sum
      return aggregation === 'rate' ? sum / (elapsedMs / 1_000) : undefined
    },
  }
}

function openGauge(): Sink {
  const values: Record<string, number> = { value: 0, min: 0, max: 0 }
  let isEmpty = true
  return {
    add(value) {
      values['value'] = value
      values['min'] = isEmpty ? value : Math.min(values['min']!, value)
      values['max'] = isEmpty ? value : Math.max(values['max']!, value)
      isEmpty = false
    },
    isEmpty: () => isEmpty,
    value: (aggregation) => values[aggregation],
  }
}

function openRate(): Sink {
  let [passes, total] = [0, 0]
  return {
    add(value) {
      total++
      if (value !== 0) passes++
    },
    isEmpty: () => total === 0,
    value(aggregation) {
      if (aggregation === 'passes') return passes
      if (aggregation === 'fails') return total - passes
      return aggregation === 'rate' && total > 0 ? passes / total : undefined
    },
  }
}

function openTrend(): Sink {
  let values = new Float64Array(64)
  let [count, sum, isSorted] = [0, 0, true]

  function sorted(): Float64Array {
    const used = values.subarray(0, count)
    if (!isSorted) used.sort()
    isSorted = true
    return used
  }

  return {
    add(value) {
      if (count === values.length) {
        const more = new Float64Array(2 * count)
        more.set(values)
        values = more
      }
      values[count++] = value
      sum += value
      isSorted = false
    },
    isEmpty: () => count === 0,
    value(aggregation) {
      if (aggregation === 'avg') return count === 0 ? 0 : sum / count
      if (aggregation === 'count') return count
      const fraction = { min: 0, med: 0.5, max: 1 }[aggregation] ?? percentileOf(aggregation)
      return fraction === undefined ? undefined : percentile(sorted(), fraction)
    },
  }
}

function percentileOf(aggregation: string): number | undefined {
  const match = /^p\(([\d.]+)\)$/.exec(aggregation)
  return match === null ? undefined : Number(match[1]) / 100
}
