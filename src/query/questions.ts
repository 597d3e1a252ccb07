import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Metrics } from '../metrics.ts'
import type { Stores } from '../store/stores.ts'
import { openAdmission } from './admission.ts'
import { openCatalogue } from './catalogue.ts'
import { openCountQuestions } from './counts.ts'
import type { FoldPool } from './fold-pool.ts'
import { openFreshness, type SealNow } from './freshness.ts'
import { openFunnelQuestions } from './funnel.ts'
import { openFunnelUserLists } from './funnel-users.ts'
import { openPins } from './pins.ts'
import { openRawEvents } from './raw-events.ts'
import { openSearch } from './search.ts'
import { openSegmentUsers } from './segment-users.ts'
import { openSegmentValues } from './segment-values.ts'
import { openSegments } from './segments.ts'
import { openUserEvents } from './user-events.ts'
import { openUserIds } from './user-ids.ts'

const MEGABYTE = 1_048_576

export type QueryLimits = Pick<
  Config,
  | 'QUERIES_IN_FLIGHT_MAX'
  | 'QUERY_READS_IN_FLIGHT_MAX'
  | 'QUERY_PARTITIONS_MAX'
  | 'QUERY_TIMEOUT_MS'
  | 'QUERY_MEMORY_MB'
  | 'QUERY_EVENTS_MAX'
  | 'SEGMENT_CACHE_MB'
>

export type Questions = ReturnType<typeof openQuestions>

/** All questions that can be asked of the tables of one keyspace. */
export function openQuestions(dependencies: {
  readonly stores: Stores
  /** Where questions are folded, and what brings the newest events into segments. */
  readonly threads: { readonly pool: FoldPool; readonly sealNow: SealNow }
  readonly limits: QueryLimits
  readonly clock: Clock
  readonly metrics: Metrics
}) {
  const { stores, threads, limits, clock, metrics } = dependencies
  const { pool, sealNow } = threads
  const rawEvents = openRawEvents({
    ...stores,
    readsInFlightMax: limits.QUERY_READS_IN_FLIGHT_MAX,
    partitionsMax: limits.QUERY_PARTITIONS_MAX,
  })
  const segments = openSegments({
    ...{ snapshots: stores.snapshots, pool },
    cacheBytesMax: limits.SEGMENT_CACHE_MB * MEGABYTE,
    memoryBytesMax: limits.QUERY_MEMORY_MB * MEGABYTE,
    eventsMax: limits.QUERY_EVENTS_MAX,
  })
  const freshness = openFreshness({ ...stores, sealNow, clock })
  const queryTimeoutMs = limits.QUERY_TIMEOUT_MS
  const admitFunnel = openAdmission({
    ...{ kind: 'funnel', inFlightMax: limits.QUERIES_IN_FLIGHT_MAX, metrics },
  })
  const ofFunnels = { admit: admitFunnel, queryTimeoutMs, clock, metrics }
  return {
    funnels: openFunnelQuestions({
      sources: { rawEvents, segments, freshness, snapshots: stores.snapshots },
      ...ofFunnels,
    }),
    funnelUsers: openFunnelUserLists({
      sources: {
        ...{ rawEvents, segments, freshness, snapshots: stores.snapshots },
        segmentUsers: openSegmentUsers({ segments, pool }),
        segmentValues: openSegmentValues({ segments, pool }),
        userIds: openUserIds(stores),
        pins: openPins({ ...stores, clock }),
      },
      ...ofFunnels,
    }),
    counts: openCountQuestions({
      ...{ ...stores, freshness, queryTimeoutMs, clock },
      admit: openAdmission({
        kind: 'counts',
        inFlightMax: limits.QUERY_READS_IN_FLIGHT_MAX,
        metrics,
      }),
    }),
    ...openLookups({ stores, limits, clock, metrics }),
  }
}

/** Questions for what is stored as it was sent, and for what there is to ask about. */
function openLookups({
  stores,
  limits,
  clock,
  metrics,
}: Pick<Parameters<typeof openQuestions>[0], 'stores' | 'limits' | 'clock' | 'metrics'>) {
  const readsInFlightMax = limits.QUERY_READS_IN_FLIGHT_MAX
  const admitOf = (kind: 'search' | 'names' | 'user', inFlightMax: number) =>
    openAdmission({ kind, inFlightMax, metrics })
  return {
    search: openSearch({
      ...{ stores, clock, metrics },
      limits: { readsInFlightMax, queryTimeoutMs: limits.QUERY_TIMEOUT_MS },
      admit: admitOf('search', limits.QUERIES_IN_FLIGHT_MAX),
    }),
    catalogue: openCatalogue({
      ...{ stores, clock, readsInFlightMax },
      admit: admitOf('names', limits.QUERIES_IN_FLIGHT_MAX),
    }),
    userEvents: openUserEvents({
      ...{ ...stores, clock, readsInFlightMax },
      admit: admitOf('user', readsInFlightMax),
    }),
  }
}
