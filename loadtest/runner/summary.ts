import type { Contents, Metric, Metrics } from './metrics.ts'
import type { MetricThreshold } from './thresholds.ts'

/** What a run came to. */
export interface Summary {
  readonly metrics: Metrics
  readonly checks: ReadonlyMap<string, { readonly passes: number; readonly fails: number }>
  readonly thresholds: readonly MetricThreshold[]
  readonly elapsedMs: number
}

const TREND = ['avg', 'min', 'med', 'max', 'p(90)', 'p(95)']
const VALUES = {
  counter: ['count', 'rate'],
  gauge: ['value', 'min', 'max'],
  rate: ['rate', 'passes', 'fails'],
  trend: TREND,
}
/** Which metrics are shown under which heading; all others are the script's own. */
const HEADINGS: readonly [heading: string, has: RegExp][] = [
  ['HTTP', /^http_req/],
  ['EXECUTION', /^(iteration|dropped_iterations|vus|group_duration)/],
  ['NETWORK', /^data_/],
]
const NAME_WIDTH = 40

/** What k6 gives to `handleSummary`: the metrics with their values and thresholds, and how long it took. */
export function summaryData({ metrics, thresholds, elapsedMs }: Summary) {
  const told = metrics.all().filter(({ sink }) => !sink.isEmpty())
  const entries = told.map((metric) => {
    const values = VALUES[metric.type].map((name) => [
      name,
      metric.sink.value(name, elapsedMs) ?? 0,
    ])
    const own = thresholds.filter((threshold) => threshold.metric === metric)
    const verdicts = own.map(({ source, isBroken }) => [source, { ok: !isBroken }])
    const { type, contents } = metric
    return [
      metric.name,
      {
        ...{ type, contains: contents, values: Object.fromEntries(values) },
        ...(own.length === 0 ? {} : { thresholds: Object.fromEntries(verdicts) }),
      },
    ]
  })
  return { metrics: Object.fromEntries(entries), state: { testRunDurationMs: elapsedMs } }
}

/** The end of the test in words, in the order of k6's own: thresholds, checks, metrics by heading. */
export function summaryText(summary: Summary): string {
  const { metrics, thresholds, elapsedMs } = summary
  const told = metrics.all().filter(({ name, sink }) => !sink.isEmpty() && name !== 'checks')
  const headingOf = ({ name }: Metric) =>
    HEADINGS.find(([, has]) => has.test(name))?.[0] ?? 'CUSTOM'
  const lines = ['CUSTOM', ...HEADINGS.map(([heading]) => heading)].flatMap((heading) => {
    const own = told.filter((metric) => headingOf(metric) === heading)
    return own.length === 0
      ? []
      : ['', `    ${heading}`, ...own.map((metric) => metricLine(metric, elapsedMs))]
  })
  return [
    ...(thresholds.length === 0 ? [] : ['', '  █ THRESHOLDS', ...thresholdLines(thresholds)]),
    ...['', '  █ TOTAL RESULTS', ''],
    ...checkLines(summary),
    ...lines,
    '',
  ].join('\n')
}

function thresholdLines(thresholds: readonly MetricThreshold[]): string[] {
  return thresholds.flatMap(({ metric, source, aggregation, observed, isBroken }, index) => {
    const heading = thresholds[index - 1]?.metric === metric ? [] : ['', `    ${metric.name}`]
    const shown = observed === undefined ? 'nothing measured' : show(aggregation, observed, metric)
    return [...heading, `    ${mark(!isBroken)} '${source}' ${aggregation}=${shown}`]
  })
}

function checkLines({ checks, metrics, elapsedMs }: Summary): string[] {
  const { sink } = metrics.find('checks')
  if (sink.isEmpty()) return []
  const [passes, fails] = ['passes', 'fails'].map((name) => sink.value(name, elapsedMs)!)
  const total = passes! + fails!
  const share = (part: number) => `${((100 * part) / total).toFixed(2)}% ${part} out of ${total}`
  const each = [...checks].flatMap(([name, counts]) => {
    const line = `    ${mark(counts.fails === 0)} ${name}`
    return counts.fails === 0 ? [line] : [line, `      ↳ ✓ ${counts.passes} / ✗ ${counts.fails}`]
  })
  return [
    `${label('checks_total')} ${total}`,
    `${label('checks_succeeded')} ${share(passes!)}`,
    `${label('checks_failed')} ${share(fails!)}`,
    '',
    ...each,
  ]
}

function metricLine(metric: Metric, elapsedMs: number): string {
  const { name, type, sink } = metric
  const [first, ...others] = VALUES[type].map(
    (one) => [one, show(one, sink.value(one, elapsedMs) ?? 0, metric)] as const,
  )
  const part = /\{.*$/.exec(name)?.[0]
  const head = label(part === undefined ? name : `  ${part}`)
  switch (type) {
    case 'counter':
      return `${head} ${first![1]} ${others[0]![1]}/s`
    case 'rate':
      return `${head} ${first![1]} ${others[0]![1]} out of ${sink.value('passes', 0)! + sink.value('fails', 0)!}`
    case 'gauge':
      return `${head} ${first![1]} ${others.map((pair) => pair.join('=')).join(' ')}`
    case 'trend':
      return `${head} ${[first!, ...others].map((pair) => pair.join('=')).join(' ')}`
  }
}

function show(aggregation: string, value: number, { type, contents }: Metric): string {
  if (type === 'rate' && aggregation === 'rate') return `${(100 * value).toFixed(2)}%`
  return type === 'counter' && contents === 'time' ? plain(value) : SHOWN[contents](value)
}

const SHOWN: Record<Contents, (value: number) => string> = {
  time: (ms) => {
    if (ms >= 1_000) return `${plain(ms / 1_000)}s`
    return ms >= 1 || ms === 0 ? `${plain(ms)}ms` : `${plain(ms * 1_000)}µs`
  },
  data: (bytes) => {
    if (bytes >= 1e6) return `${plain(bytes / 1e6)} MB`
    return bytes >= 1e3 ? `${plain(bytes / 1e3)} kB` : `${plain(bytes)} B`
  },
  default: plain,
}

function plain(value: number): string {
  return String(Math.round(value * 100) / 100)
}

function label(name: string): string {
  return `    ${name.padEnd(NAME_WIDTH, '.')}:`
}

function mark(isGood: boolean): string {
  return isGood ? '✓' : '✗'
}
