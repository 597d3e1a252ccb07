import type { Event } from '../../src/event/event.ts'
import { eventCells } from '../../src/store/event-row.ts'
import type { Session } from '../../src/store/session.ts'
import type { Stores } from '../../src/store/stores.ts'

type RowTable = Stores['events'] | Stores['userTimeline']

/** Writes the rows of events into one table, as batches of one partition each. */
export async function writeRows(
  session: Session,
  table: RowTable,
  { projectId, retentionDays = 400 }: { projectId: string; retentionDays?: number },
  events: readonly Event[],
): Promise<void> {
  const rows = events.map((event) =>
    table.toRow(Buffer.from(projectId), event, eventCells(event, retentionDays)),
  )
  const byPartition = new Map<string, typeof rows>()
  for (const row of rows)
    byPartition.set(row.partition, [...(byPartition.get(row.partition) ?? []), row])
  const statement = { table: 'rows', operation: 'write', cql: '' }
  for (const ofPartition of byPartition.values())
    for (let start = 0; start < ofPartition.length; start += 100) {
      const batch = ofPartition.slice(start, start + 100)
      await session.batch(statement, batch, batch[0]!.routingKey())
    }
}

/** Collects all that a scan yields. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = []
  for await (const item of items) collected.push(item)
  return collected
}
