import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { Stores } from '../store/stores.ts'
import { openFirstSight } from './first-sight.ts'
import { openGroupCommit } from './group-commit.ts'
import { openIngest } from './ingest.ts'
import { openMinuteCounts } from './minute-counts.ts'
import { openRowWriter } from '../store/row-writer.ts'
import { openUserGuard } from './user-guard.ts'
import { openWriter } from './writer.ts'

export type IngestLimits = Pick<
  Config,
  | 'INGEST_LINGER_MS'
  | 'INGEST_BATCHES_IN_FLIGHT_MAX'
  | 'INGEST_COMMITS_IN_FLIGHT_MAX'
  | 'INGEST_PENDING_EVENTS_MAX'
  | 'INGEST_PENDING_BYTES_MAX'
  | 'INGEST_ACKNOWLEDGE_TIMEOUT_MS'
  | 'USER_EVENTS_PER_DAY_MAX'
>

/** Puts the steps of ingest together over the tables of one keyspace. */
export function openIngestPath(dependencies: {
  readonly stores: Stores
  readonly limits: IngestLimits
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Logger
}) {
  const { stores, limits, clock, metrics, log } = dependencies
  const writer = openWriter({ ...stores, clock, metrics, log })
  const rows = openRowWriter({
    ...stores,
    metrics,
    batchesInFlightMax: limits.INGEST_BATCHES_IN_FLIGHT_MAX,
  })
  const groupCommit = openGroupCommit({
    storage: { writer, arrivals: stores.arrivals, rows },
    limits: {
      lingerMs: limits.INGEST_LINGER_MS,
      commitsInFlightMax: limits.INGEST_COMMITS_IN_FLIGHT_MAX,
      pendingEventsMax: limits.INGEST_PENDING_EVENTS_MAX,
      pendingBytesMax: limits.INGEST_PENDING_BYTES_MAX,
    },
    monotonicMs: clock.monotonicMs,
    metrics,
    log,
  })
  const minuteCounts = openMinuteCounts({ ...stores, clock, metrics, log })
  const steps = {
    userGuard: openUserGuard(limits.USER_EVENTS_PER_DAY_MAX),
    firstSight: openFirstSight(stores),
    groupCommit,
    minuteCounts,
  }
  const acknowledgeTimeoutMs = limits.INGEST_ACKNOWLEDGE_TIMEOUT_MS
  return {
    ingest: openIngest({ steps, acknowledgeTimeoutMs, clock, metrics }),

    /** Stores all that was taken in, or as much as can be before `giveUp`. */
    async close(giveUp: AbortSignal): Promise<void> {
      await groupCommit.close(giveUp)
      await minuteCounts.close(giveUp)
      await writer.close(giveUp)
    },
  }
}
