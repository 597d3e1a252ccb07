import pLimit from 'p-limit'
import type { Event } from '../event/event.ts'
import type { Metrics } from '../metrics.ts'
import { eventCells, type RowWrite } from './event-row.ts'
import type { Events } from './events.ts'
import type { Session, Statement } from './session.ts'
import type { UserTimeline } from './user-timeline.ts'
import { untilStored } from './retry.ts'
import { rowBatches } from './row-batches.ts'

const WRITE_EVENTS: Statement = { table: 'events', operation: 'write', cql: '' }
const WRITE_TIMELINE: Statement = { table: 'user_timeline', operation: 'write', cql: '' }

export type RowWriter = ReturnType<typeof openRowWriter>

/** Writes the rows of committed events, with one limit on batches in flight for the whole process. */
export function openRowWriter(dependencies: {
  readonly session: Session
  readonly events: Events
  readonly userTimeline: UserTimeline
  readonly metrics: Metrics
  readonly batchesInFlightMax: number
}) {
  const { session, events, userTimeline, metrics, batchesInFlightMax } = dependencies
  const limit = pLimit(batchesInFlightMax)
  const onRetry = () => metrics.ingestRetries.inc()

  function writeTable(statement: Statement, rows: readonly RowWrite[], signal: AbortSignal) {
    return rowBatches(rows, session.replicasOf).map((batch) =>
      limit(() =>
        untilStored(() => session.batch(statement, batch, batch[0]!.routingKey()), {
          signal,
          onRetry,
        }),
      ),
    )
  }

  return {
    /** Writes both rows of each event, trying again until they are stored or `signal` ends it. */
    async write(
      project: { readonly projectId: string; readonly retentionDays: number },
      committed: readonly Event[],
      signal: AbortSignal,
    ): Promise<void> {
      const projectId = Buffer.from(project.projectId)
      const cells = committed.map((event) => eventCells(event, project.retentionDays))
      const rowsBy = (table: Events | UserTimeline) =>
        committed.map((event, index) => table.toRow(projectId, event, cells[index]!))
      await Promise.all([
        ...writeTable(WRITE_EVENTS, rowsBy(events), signal),
        ...writeTable(WRITE_TIMELINE, rowsBy(userTimeline), signal),
      ])
    },
  }
}
