import type { types } from 'cassandra-driver'
import { DAY_MS, monthOfDay } from '../event/day.ts'
import { ttlSeconds } from './event-row.ts'
import { intKey, routingKeyOf, type BatchItem, type Session, type Statement } from './session.ts'

const INSERT: Statement = {
  table: 'event_buckets',
  operation: 'add',
  cql: 'INSERT INTO event_buckets (project, month, day, bucket) VALUES (?, ?, ?, ?) USING TTL ?',
}
const LIST: Statement = {
  table: 'event_buckets',
  operation: 'list',
  cql: `SELECT day, bucket FROM event_buckets
    WHERE project = ? AND month = ? AND day >= ? AND day <= ?`,
}
const BATCH_ROWS_MAX = 200

export interface BucketDay {
  readonly bucket: number
  readonly day: number
}

export type EventBuckets = ReturnType<typeof openEventBuckets>

/** Which buckets of which days hold any events. */
export function openEventBuckets(session: Session) {
  return {
    /** Writes that these hold events, in one batch a month: its rows share a partition. */
    async add(
      projectId: string,
      bucketDays: readonly BucketDay[],
      { retentionDays, nowMs }: { retentionDays: number; nowMs: number },
    ): Promise<void> {
      const items = new Map<number, BatchItem[]>()
      for (const { bucket, day } of bucketDays) {
        const month = monthOfDay(day)
        const ttl = ttlSeconds(day * DAY_MS, retentionDays, nowMs)
        const values = [projectId, month, day, bucket, ttl]
        const ofMonth = items.get(month) ?? []
        ofMonth.push({ cql: INSERT.cql, values })
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

    /** Returns what holds events from `firstDay` to `lastDay`, both included, by day and bucket. */
    async list(projectId: string, firstDay: number, lastDay: number): Promise<BucketDay[]> {
      const months: Promise<types.Row[]>[] = []
      for (let month = monthOfDay(firstDay); month <= monthOfDay(lastDay); month++)
        months.push(session.all(LIST, [projectId, month, firstDay, lastDay]))
      const rows = (await Promise.all(months)).flat()
      return rows.map((row) => ({ day: row['day'] as number, bucket: row['bucket'] as number }))
    },
  }
}
