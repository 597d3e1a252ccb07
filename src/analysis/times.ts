/** So many times are kept one by one; of more, quantiles and bars are told by bins. */
export const EXACT_TIMES_MAX = 250_000
/** A bin is as wide as this part of the times in it, or less. */
const BINS_PER_DOUBLING = 1_024

/** Times between steps, in ms. */
export interface Times {
  readonly count: number
  readonly sumMs: number
  readonly minMs: number
  readonly maxMs: number
  /** All of them, in no order; null where there were too many. */
  readonly exact: readonly Float64Array[] | null
  /** How many of them are in each bin (`binOf`); null where `exact` is not. */
  readonly bins: ReadonlyMap<number, number> | null
}

export interface TimesResult {
  readonly medianMs: number | null
  readonly meanMs: number | null
  readonly p90Ms: number | null
}

export interface HistogramBar {
  readonly fromMs: number
  readonly toMs: number
  readonly users: number
}

export const NO_TIMES: Times = {
  ...{ count: 0, sumMs: 0, minMs: Infinity, maxMs: -Infinity, exact: [], bins: null },
}

export function timesOf(values: readonly number[]): Times {
  if (values.length === 0) return NO_TIMES
  let [sumMs, minMs, maxMs] = [0, Infinity, -Infinity]
  for (const ms of values) {
    sumMs += ms
    minMs = Math.min(minMs, ms)
    maxMs = Math.max(maxMs, ms)
  }
  const times = { count: values.length, sumMs, minMs, maxMs }
  return bounded({ ...times, exact: [Float64Array.from(values)], bins: null })
}

/** Adds times of different chains: associative and commutative as far as the result tells, NO_TIMES is neutral. */
export function mergeTimes(a: Times, b: Times): Times {
  if (a.count === 0) return b
  if (b.count === 0) return a
  const times = {
    count: a.count + b.count,
    sumMs: a.sumMs + b.sumMs,
    minMs: Math.min(a.minMs, b.minMs),
    maxMs: Math.max(a.maxMs, b.maxMs),
  }
  if (a.exact !== null && b.exact !== null)
    return bounded({ ...times, exact: [...a.exact, ...b.exact], bins: null })
  const bins = new Map(binned(a))
  for (const [bin, count] of binned(b)) bins.set(bin, (bins.get(bin) ?? 0) + count)
  return { ...times, exact: null, bins }
}

/** Quantiles are interpolated between neighbours; null where there are no times. */
export function timesResult(times: Times): TimesResult {
  if (times.count === 0) return { medianMs: null, meanMs: null, p90Ms: null }
  const ordered = inOrder(times)
  const quantile = (share: number) => {
    const at = share * (times.count - 1)
    const [low, high] = [ordered(Math.floor(at)), ordered(Math.ceil(at))]
    return low + (high - low) * (at - Math.floor(at))
  }
  return {
    medianMs: Math.round(quantile(0.5)),
    meanMs: Math.round(times.sumMs / times.count),
    p90Ms: Math.round(quantile(0.9)),
  }
}

/** Returns bars of equal width, the first of which begins at the least time: about the cube root of their number. */
export function histogramOf(times: Times): HistogramBar[] {
  if (times.count === 0) return []
  const { minMs, maxMs } = times
  const barCount = Math.ceil(Math.cbrt(times.count))
  const widthMs = Math.max(1, Math.ceil((maxMs - minMs) / barCount))
  const counts = new Array<number>(Math.floor((maxMs - minMs) / widthMs) + 1).fill(0)
  const add = (ms: number, count: number) => {
    const at = Math.floor((Math.min(Math.max(ms, minMs), maxMs) - minMs) / widthMs)
    counts[at]! += count
  }
  if (times.exact === null) for (const [bin, count] of times.bins!) add(middleOf(bin), count)
  else for (const part of times.exact) for (const ms of part) add(ms, 1)
  return counts.map((users, at) => ({
    ...{ fromMs: minMs + at * widthMs, toMs: minMs + (at + 1) * widthMs, users },
  }))
}

export function areExact({ exact }: Times): boolean {
  return exact !== null
}

function bounded(times: Times): Times {
  if (times.count <= EXACT_TIMES_MAX) return times
  return { ...times, exact: null, bins: binned(times) }
}

function binned({ exact, bins }: Times): ReadonlyMap<number, number> {
  if (exact === null) return bins!
  const counts = new Map<number, number>()
  for (const part of exact)
    for (const ms of part) {
      const bin = binOf(ms)
      counts.set(bin, (counts.get(bin) ?? 0) + 1)
    }
  return counts
}

/** Bins are 1 ms wide up to BINS_PER_DOUBLING ms, and double their width wherever the time doubles from there on. */
function binOf(ms: number): number {
  if (ms < BINS_PER_DOUBLING) return ms
  const doublings = Math.floor(Math.log2(ms / BINS_PER_DOUBLING))
  const scale = 2 ** doublings
  return BINS_PER_DOUBLING * doublings + Math.floor(ms / scale)
}

function middleOf(bin: number): number {
  if (bin < BINS_PER_DOUBLING) return bin
  const scale = 2 ** (Math.floor(bin / BINS_PER_DOUBLING) - 1)
  return ((bin % BINS_PER_DOUBLING) + BINS_PER_DOUBLING) * scale + (scale - 1) / 2
}

/** Returns what tells the time at a place, when they are put in order. */
function inOrder(times: Times): (place: number) => number {
  const { exact, bins, count } = times
  if (exact !== null) {
    const all = new Float64Array(count)
    let end = 0
    for (const part of exact) {
      all.set(part, end)
      end += part.length
    }
    all.sort()
    return (place) => all[place]!
  }
  const sorted = [...bins!].sort(([a], [b]) => a - b)
  return (place) => {
    let before = 0
    for (const [bin, inBin] of sorted) {
      before += inBin
      if (place < before) return Math.min(Math.max(middleOf(bin), times.minMs), times.maxMs)
    }
    return times.maxMs
  }
}
