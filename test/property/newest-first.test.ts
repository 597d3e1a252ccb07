import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newestOf, type Place, type Stream } from '../../src/query/newest-first.ts'

interface Row extends Place {
  readonly isMatch: boolean
}

/** Few times, so that many rows are of one moment, in the order of their partition: by id, downwards. */
const partition = (bucket: number) =>
  fc
    .array(fc.record({ eventTimeMs: fc.nat(6), isMatch: fc.boolean() }), { maxLength: 30 })
    .map((rows) =>
      rows
        .map((row, index): Row => ({ ...row, bucket, eventId: String(index).padStart(3, '0') }))
        .sort((a, b) => b.eventTimeMs - a.eventTimeMs || (a.eventId < b.eventId ? 1 : -1)),
    )
const partitions = fc
  .uniqueArray(fc.nat(20), { maxLength: 8 })
  .chain((buckets) => fc.tuple(...buckets.map(partition)))

const isAfter = (a: Place, b: Place) =>
  a.eventTimeMs !== b.eventTimeMs
    ? a.eventTimeMs < b.eventTimeMs
    : a.bucket !== b.bucket
      ? a.bucket < b.bucket
      : a.eventId < b.eventId
const inOrder = (rows: readonly Row[]) => rows.toSorted((a, b) => (isAfter(a, b) ? 1 : -1))

/** Reads a partition from a place on, a few rows at a time. */
function streamOf(rows: readonly Row[], after: Place | null, reads: { rows: number }): Stream<Row> {
  const left = rows.filter((row) => after === null || isAfter(row, after))
  let at = 0
  return {
    read: (rowsMax) => {
      const part = left.slice(at, (at += rowsMax))
      reads.rows += part.length
      const isDone = at >= left.length
      const matches = part.filter(({ isMatch }) => isMatch)
      return Promise.resolve({ matches, reached: isDone ? null : part.at(-1)! })
    },
  }
}

const cutTo = (count: number) => (rows: readonly Row[]) => ({
  kept: rows.slice(0, count),
  isFull: rows.length >= count,
})

test('the newest of many partitions are those of all rows sorted', async () => {
  await fc.assert(
    fc.asyncProperty(partitions, fc.integer({ min: 1, max: 60 }), async (all, wanted) => {
      const reads = { rows: 0 }
      const streams = all.map((rows) => streamOf(rows, null, reads))
      const { found, givenUpAt } = await newestOf(streams, {
        ...{ wanted, cut: cutTo(wanted), isSpent: () => false },
      })
      const matches = inOrder(all.flat()).filter(({ isMatch }) => isMatch)
      expect(found).toEqual(matches.slice(0, wanted))
      expect(givenUpAt).toBeNull()
    }),
  )
})

test('pages that give up early add up to all rows, each once and in order', async () => {
  const rowsAPage = fc.integer({ min: 1, max: 50 })
  await fc.assert(
    fc.asyncProperty(partitions, fc.nat(9), rowsAPage, async (all, more, rowsMax) => {
      const limit = more + 1
      const told: Row[] = []
      let after: Place | null = null
      do {
        const reads = { rows: 0 }
        const streams = all.map((rows) => streamOf(rows, after, reads))
        const { found, givenUpAt } = await newestOf(streams, {
          ...{ wanted: limit, cut: cutTo(limit), isSpent: () => reads.rows >= rowsMax },
        })
        told.push(...found)
        if (givenUpAt !== null) expect(after === null || isAfter(givenUpAt, after)).toBe(true)
        after = found.length === limit ? found.at(-1)! : givenUpAt
      } while (after !== null)
      expect(told).toEqual(inOrder(all.flat()).filter(({ isMatch }) => isMatch))
    }),
  )
})
