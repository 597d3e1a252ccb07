import { groupBy } from '../group-by.ts'
import type { RowWrite } from './event-row.ts'

/** Above this the server warns of partitions in a batch. */
export const PARTITIONS_PER_BATCH_MAX = 10
/** The server warns of batches over several partitions above 5 KiB. */
export const BATCH_BYTES_MAX = 4_096
export const PARTITION_BATCH_BYTES_MAX = 65_536

/**
 * Cuts rows of one table into batches. Rows of one partition share a batch of up to 64 KiB; rows of up
 * to 10 partitions on the same replicas share one of up to 4 KiB. A larger row goes alone.
 */
export function rowBatches(
  rows: readonly RowWrite[],
  replicasOf: (routingKey: () => Buffer) => string,
): RowWrite[][] {
  const byReplicas = groupBy(rows, (row) => replicasOf(row.routingKey)).values()
  return [...byReplicas].flatMap((onReplicas) => [
    ...packed(groupBy(onReplicas, (row) => row.partition).values()),
  ])
}

function packed(partitions: Iterable<RowWrite[]>): RowWrite[][] {
  const batches: RowWrite[][] = []
  let shared: RowWrite[] = []
  let sharedBytes = 0
  let sharedPartitions = 0
  for (const partition of partitions) {
    const bytes = bytesOf(partition)
    if (bytes > BATCH_BYTES_MAX) {
      batches.push(...slices(partition))
      continue
    }
    if (sharedPartitions === PARTITIONS_PER_BATCH_MAX || sharedBytes + bytes > BATCH_BYTES_MAX) {
      batches.push(shared)
      shared = []
      sharedBytes = sharedPartitions = 0
    }
    shared.push(...partition)
    sharedBytes += bytes
    sharedPartitions++
  }
  if (shared.length > 0) batches.push(shared)
  return batches
}

function slices(partition: readonly RowWrite[]): RowWrite[][] {
  const batches: RowWrite[][] = [[]]
  let bytes = 0
  for (const row of partition) {
    if (bytes > 0 && bytes + row.sizeBytes > PARTITION_BATCH_BYTES_MAX) {
      batches.push([])
      bytes = 0
    }
    batches.at(-1)!.push(row)
    bytes += row.sizeBytes
  }
  return batches
}

function bytesOf(rows: readonly RowWrite[]): number {
  return rows.reduce((bytes, row) => bytes + row.sizeBytes, 0)
}
