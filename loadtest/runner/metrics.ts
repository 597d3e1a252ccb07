import { openSink, type MetricType, type Sink } from './sinks.ts'

export type Tags = Readonly<Record<string, string>>
/** How values are shown: as durations in milliseconds, as bytes, or as they are. */
export type Contents = 'time' | 'data' | 'default'

export interface Metric {
  /** With the tags in braces where it is a part of another: `http_req_duration{name:funnel}`. */
  readonly name: string
  readonly type: MetricType
  readonly contents: Contents
  readonly sink: Sink
}

/** What k6 measures by itself and this runner too. */
const BUILT_IN: readonly [name: string, type: MetricType, contents: Contents][] = [
  ['checks', 'rate', 'default'],
  ['data_received', 'counter', 'data'],
  ['data_sent', 'counter', 'data'],
  ['dropped_iterations', 'counter', 'default'],
  ['group_duration', 'trend', 'time'],
  ['http_req_blocked', 'trend', 'time'],
  ['http_req_connecting', 'trend', 'time'],
  ['http_req_duration', 'trend', 'time'],
  ['http_req_failed', 'rate', 'default'],
  ['http_req_receiving', 'trend', 'time'],
  ['http_req_sending', 'trend', 'time'],
  ['http_req_tls_handshaking', 'trend', 'time'],
  ['http_req_waiting', 'trend', 'time'],
  ['http_reqs', 'counter', 'default'],
  ['iteration_duration', 'trend', 'time'],
  ['iterations', 'counter', 'default'],
  ['vus', 'gauge', 'default'],
  ['vus_max', 'gauge', 'default'],
]

export type Metrics = ReturnType<typeof openMetrics>

/** All metrics of one run. */
export function openMetrics() {
  const metrics = new Map<string, Metric>()
  const parts = new Map<string, { readonly tags: Tags; readonly metric: Metric }[]>()

  function declare(name: string, type: MetricType, contents: Contents = 'default'): void {
    const known = metrics.get(name)
    if (known !== undefined && known.type !== type)
      throw new Error(`the metric ${name} is a ${known.type}, it cannot be a ${type} too`)
    if (known === undefined) metrics.set(name, { name, type, contents, sink: openSink(type) })
  }

  /** The metric of a name as thresholds have it. What is named with tags counts from then on. Throws if unknown. */
  function find(name: string): Metric {
    const { base, tags } = parseMetricName(name)
    const whole = metrics.get(base)
    if (whole === undefined) throw new Error(`there is no metric ${base}`)
    if (tags === undefined) return whole
    const siblings = parts.get(base) ?? []
    const known = siblings.find(({ metric }) => metric.name === name)
    if (known !== undefined) return known.metric
    const metric = { ...whole, name, sink: openSink(whole.type) }
    parts.set(base, [...siblings, { tags, metric }])
    return metric
  }

  for (const [name, type, contents] of BUILT_IN) declare(name, type, contents)
  find('http_req_duration{expected_response:true}')

  return {
    declare,
    find,
    add(name: string, value: number, tags: Tags): void {
      metrics.get(name)!.sink.add(value)
      for (const part of parts.get(name) ?? [])
        if (Object.entries(part.tags).every(([tag, wanted]) => tags[tag] === wanted))
          part.metric.sink.add(value)
    },
    /** By name; each is followed by its parts. */
    all: (): Metric[] =>
      [...metrics.values()]
        .sort((a, b) => (a.name < b.name ? -1 : 1))
        .flatMap((whole) => [whole, ...(parts.get(whole.name) ?? []).map(({ metric }) => metric)]),
  }
}

/** Takes `name{tag:value,tag:value}` apart. Throws where it is not of that form. */
function parseMetricName(name: string): { readonly base: string; readonly tags?: Tags } {
  const match = /^(\w+)(?:\{(.+)\})?$/.exec(name)
  if (match === null)
    throw new Error(`"${name}" names no metric, such as checks or checks{tag:value}`)
  const [, base = '', list] = match
  if (list === undefined) return { base }
  const pairs = list.split(',').map((pair) => {
    const at = pair.indexOf(':')
    if (at < 1) throw new Error(`"${pair}" in ${name} is no tag and value`)
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const
  })
  return { base, tags: Object.fromEntries(pairs) }
}
