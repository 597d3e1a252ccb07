import type { types } from 'cassandra-driver'
import { dayOf, monthOfDay, monthStartMs } from '../event/day.ts'
import { intKey, routingKeyOf, type BatchItem, type Session, type Statement } from './session.ts'

const INSERT: Statement = {
  table: 'event_buckets',
  operation: 'add',
  cql: 'INSERT INTO event_buckets (project, month, day, bucket) VALUES (?, ?, ?, ?)',
}
const LIST: Statement = {
  table: 'event_buckets',
  operation: 'list',
  cql: `SELECT day, bucket FROM event_buckets
    WHERE project = ? AND month = ? AND day >= ? AND day <= ?`,
}
const BATCH_ROWS_MAX = 200
const MONTHS_AT_ONCE = 8

export interface BucketDay {
  readonly bucket: number
  readonly day: number
}

export type EventBuckets = ReturnType<typeof openEventBuckets>

/** Which buckets of which days hold any events. */
export function openEventBuckets(session: Session) {
  return {
    /** Writes that these hold events, in one batch a month: its rows share a partition. */
    async add(projectId: string, bucketDays: readonly BucketDay[]): Promise<void> {
      const items = new Map<number, BatchItem[]>()
      for (const { bucket, day } of bucketDays) {
        const month = monthOfDay(day)
        const ofMonth = items.get(month) ?? []
        ofMonth.push({ cql: INSERT.cql, values: [projectId, month, day, bucket] })
        items.set(month, ofMonth)
      }
      for (const [month, ofMonth] of items)
        for (let start = 0; start < ofMonth.length; start += BATCH_ROWS_MAX)
          await session.batch(
            INSERT,
            ofMonth.slice(start, start + BATCH_ROWS_MAX),
            routingKeyOf(projectId, intKey(month)),
          )
    },

    /**
     * Yields what holds events from `firstDay` to `lastDay`, both included, in the order (day, bucket): some
     * months at a time, each time through `throughDay`.
     */
    async *list(
      projectId: string,
      firstDay: number,
      lastDay: number,
    ): AsyncGenerator<{ readonly bucketDays: BucketDay[]; readonly throughDay: number }> {
      const lastMonth = monthOfDay(lastDay)
      for (let month = monthOfDay(firstDay); month <= lastMonth; month += MONTHS_AT_ONCE) {
        const count = Math.min(MONTHS_AT_ONCE, lastMonth - month + 1)
        const reads = Array.from({ length: count }, (_, index) =>
          session.all(LIST, [projectId, month + index, firstDay, lastDay]),
        )
        const bucketDays = (await Promise.all(reads)).flat().map(bucketDayOf)
        const monthsEnd = dayOf(monthStartMs(month + count)) - 1
        yield { bucketDays, throughDay: Math.min(lastDay, monthsEnd) }
      }
    },
  }
}

function bucketDayOf(row: types.Row): BucketDay {
  return { day: row['day'] as number, bucket: row['bucket'] as number }
}
