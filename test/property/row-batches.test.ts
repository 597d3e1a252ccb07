import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  BATCH_BYTES_MAX,
  PARTITIONS_PER_BATCH_MAX,
  PARTITION_BATCH_BYTES_MAX,
  rowBatches,
} from '../../src/store/row-batches.ts'
import type { RowWrite } from '../../src/store/event-row.ts'

/** A row of a partition; the partitions are dealt out to three sets of replicas. */
const row = fc
  .record({
    partition: fc.nat(30),
    sizeBytes: fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 100, max: 1_000 }) },
      { weight: 1, arbitrary: fc.integer({ min: 1_000, max: 80_000 }) },
    ),
  })
  .map(({ partition, sizeBytes }): RowWrite => {
    const routingKey = () => Buffer.of(partition % 3)
    return { cql: '', values: [], partition: `p${partition}`, routingKey, sizeBytes }
  })
const rows = fc.array(row, { maxLength: 200 })

const replicasOf = (routingKey: () => Buffer) => `replicas ${routingKey()[0]}`
const bytesOf = (some: readonly RowWrite[]) => some.reduce((sum, one) => sum + one.sizeBytes, 0)
const partitionsOf = (some: readonly RowWrite[]) => new Set(some.map(({ partition }) => partition))

/** Checks a claim against the batches of any rows. */
function always(claim: (batches: RowWrite[][], given: readonly RowWrite[]) => void): void {
  fc.assert(
    fc.property(rows, (given) => {
      claim(rowBatches(given, replicasOf), given)
    }),
  )
}

describe('the batches of rows', () => {
  test('hold every row once', () => {
    always((batches, given) => {
      expect(batches.flat()).toHaveLength(given.length)
      expect(new Set(batches.flat())).toEqual(new Set(given))
      expect(batches.filter((batch) => batch.length === 0)).toEqual([])
    })
  })

  test('keep the order of the rows of a partition', () => {
    always((batches, given) => {
      for (const partition of partitionsOf(given)) {
        const ofPartition = (some: readonly RowWrite[]) =>
          some.filter((one) => one.partition === partition)
        const sent = ofPartition(batches.flat())
        expect(sent.every((one, index) => one === ofPartition(given)[index])).toBe(true)
      }
    })
  })

  test('of several partitions are few, small and on the same replicas', () => {
    always((batches) => {
      for (const batch of batches) {
        const { size } = partitionsOf(batch)
        if (size === 1) continue
        expect(size).toBeLessThanOrEqual(PARTITIONS_PER_BATCH_MAX)
        expect(bytesOf(batch)).toBeLessThanOrEqual(BATCH_BYTES_MAX)
        expect(new Set(batch.map((one) => replicasOf(one.routingKey))).size).toBe(1)
      }
    })
  })

  test('of one partition are within their limit, or a single row', () => {
    always((batches) => {
      for (const batch of batches)
        if (batch.length > 1) expect(bytesOf(batch)).toBeLessThanOrEqual(PARTITION_BATCH_BYTES_MAX)
    })
  })

  test('hold the rows of a partition together where they fit', () => {
    always((batches, given) => {
      for (const partition of partitionsOf(given)) {
        const bytes = bytesOf(given.filter((one) => one.partition === partition))
        if (bytes > PARTITION_BATCH_BYTES_MAX) continue
        const holding = batches.filter((batch) => partitionsOf(batch).has(partition))
        expect(holding).toHaveLength(1)
      }
    })
  })

  test('are shared by as many small partitions as may be', () => {
    const given = Array.from({ length: 25 }, (_, index): RowWrite => {
      const routingKey = () => Buffer.of(0)
      return { cql: '', values: [], partition: `p${index}`, routingKey, sizeBytes: 100 }
    })
    expect(rowBatches(given, replicasOf).map((batch) => batch.length)).toEqual([10, 10, 5])
    const larger = given.map((one) => ({ ...one, sizeBytes: BATCH_BYTES_MAX / 2 }))
    expect(rowBatches(larger.slice(0, 5), replicasOf).map(({ length }) => length)).toEqual([
      2, 2, 1,
    ])
  })
})
