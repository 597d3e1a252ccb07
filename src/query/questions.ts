import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Metrics } from '../metrics.ts'
import type { Stores } from '../store/stores.ts'
import { openAdmission } from './admission.ts'
import { openFunnelQuestions } from './funnel.ts'
import { openRawEvents } from './raw-events.ts'
import { openUserEvents } from './user-events.ts'

export type QueryLimits = Pick<
  Config,
  | 'QUERIES_IN_FLIGHT_MAX'
  | 'QUERY_READS_IN_FLIGHT_MAX'
  | 'QUERY_PARTITIONS_MAX'
  | 'QUERY_TIMEOUT_MS'
>

export type Questions = ReturnType<typeof openQuestions>

/** All questions that can be asked of the tables of one keyspace. */
export function openQuestions(dependencies: {
  readonly stores: Stores
  readonly limits: QueryLimits
  readonly clock: Clock
  readonly metrics: Metrics
}) {
  const { stores, limits, clock, metrics } = dependencies
  const rawEvents = openRawEvents({
    ...stores,
    readsInFlightMax: limits.QUERY_READS_IN_FLIGHT_MAX,
    partitionsMax: limits.QUERY_PARTITIONS_MAX,
  })
  const queryTimeoutMs = limits.QUERY_TIMEOUT_MS
  return {
    funnels: openFunnelQuestions({
      rawEvents,
      admit: openAdmission({ kind: 'funnel', inFlightMax: limits.QUERIES_IN_FLIGHT_MAX, metrics }),
      queryTimeoutMs,
      clock,
      metrics,
    }),
    userEvents: openUserEvents({
      ...stores,
      admit: openAdmission({
        kind: 'user',
        inFlightMax: limits.QUERY_READS_IN_FLIGHT_MAX,
        metrics,
      }),
      clock,
    }),
  }
}
