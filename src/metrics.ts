import {
  AggregatorRegistry,
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  Registry,
} from 'prom-client'

export type Metrics = ReturnType<typeof declareMetrics>

/** A registry as JSON, which can cross from thread to thread. */
export type MetricsJson = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/**
 * Every metric, in one place: a name here is a promise to whoever draws a graph of it. A thread leaves out
 * those of the process, which the main thread tells.
 */
export function declareMetrics({ isThread = false } = {}) {
  const registry = new Registry()
  const registers = [registry]
  if (!isThread) collectDefaultMetrics({ register: registry })
  return {
    registry,
    httpRequest: new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from a request to its answer, by route, method and status.',
      labelNames: ['route', 'method', 'status'] as const,
      buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10],
      registers,
    }),
    httpInFlight: new Gauge({
      name: 'http_requests_in_flight',
      help: 'Requests that are being answered.',
      registers,
    }),
    ingestEvents: new Counter({
      name: 'ingest_events_total',
      help: 'Events received, by outcome: accepted, rejected, or shed with a 503.',
      labelNames: ['outcome'] as const, // never project or event: they have no bound
      registers,
    }),
    ingestPending: new Gauge({
      name: 'ingest_pending_events',
      help: 'Events taken in and not yet acknowledged.',
      registers,
    }),
    ingestCommit: new Histogram({
      name: 'ingest_commit_duration_seconds',
      help: 'Time of one group commit, by part: block, rows, all.',
      labelNames: ['part'] as const,
      buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10],
      registers,
    }),
    ingestCommitEvents: new Histogram({
      name: 'ingest_commit_events',
      help: 'Events of one group commit.',
      buckets: [1, 5, 10, 20, 50, 100, 200, 500, 1000],
      registers,
    }),
    ingestRetries: new Counter({
      name: 'ingest_retries_total',
      help: 'Writes of a block or of rows that failed and were tried again.',
      registers,
    }),
    ingestWriterRenewals: new Counter({
      name: 'ingest_writer_renewals_total',
      help: 'Times that the writer went on under a new id, since its heartbeat was late.',
      registers,
    }),
    countsDropped: new Counter({
      name: 'event_counts_dropped_total',
      help: 'Counter updates whose outcome is unknown, so that minutes may be off by as much.',
      registers,
    }),
    query: new Histogram({
      name: 'query_duration_seconds',
      help: 'Time of one question, by kind and outcome.',
      labelNames: ['kind', 'outcome'] as const,
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
      registers,
    }),
    queryEvents: new Counter({
      name: 'query_events_read_total',
      help: 'Events read by questions.',
      registers,
    }),
    sealEvents: new Counter({
      name: 'seal_events_total',
      help: 'Events taken from blocks, copies included.',
      registers,
    }),
    sealDuration: new Histogram({
      name: 'seal_duration_seconds',
      help: 'Time of one pass, or one merge, by part.',
      labelNames: ['part'] as const,
      buckets: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30],
      registers,
    }),
    sealFailures: new Counter({
      name: 'seal_failures_total',
      help: 'Times that sealing a project failed; it is tried again.',
      registers,
    }),
    storeStatement: new Histogram({
      name: 'store_statement_duration_seconds',
      help: 'Time of one Cassandra statement, by table, operation and outcome.',
      labelNames: ['table', 'operation', 'outcome'] as const,
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      registers,
    }),
    storeWarnings: new Counter({
      name: 'store_warnings_total',
      help: 'Warnings that Cassandra sent with a result.',
      registers,
    }),
    storeConnections: new Gauge({
      name: 'store_connections',
      help: 'Open connections of the driver to Cassandra.',
      registers,
    }),
    storeInFlight: new Gauge({
      name: 'store_statements_in_flight',
      help: 'Statements sent to Cassandra and not yet answered.',
      registers,
    }),
  }
}

/** Adds up what several threads measured, as text for Prometheus. */
export async function metricsText(parts: readonly MetricsJson[]): Promise<string> {
  return await AggregatorRegistry.aggregate([...parts]).metrics()
}
