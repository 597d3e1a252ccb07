import { groupBy } from '../group-by.ts'
import type { BucketDay, EventBuckets } from '../store/event-buckets.ts'

/** So many partitions are read at once where days have few. */
const SLICE_PARTITIONS_MIN = 32
const DAYS_AT_ONCE_MAX = 31
const DAYS_GROWTH = 4

/**
 * Yields the bucket-days that hold anything from `lastDay` back to `firstDay`, newest days first, in slices of
 * whole days: one busy day, or as many as make 32 partitions. Looks at one day first, then at more at once.
 */
export async function* newestBucketDays(
  eventBuckets: EventBuckets,
  { projectId, firstDay, lastDay }: DaysRead,
): AsyncGenerator<readonly BucketDay[]> {
  let slice: BucketDay[] = []
  let width = 1
  for (let last = lastDay; last >= firstDay;) {
    const first = Math.max(firstDay, last - width + 1)
    const found: BucketDay[] = []
    for await (const { bucketDays } of eventBuckets.list(projectId, first, last))
      found.push(...bucketDays)
    for (const ofDay of [...groupBy(found, ({ day }) => day).values()].reverse()) {
      slice = slice.concat(ofDay)
      if (slice.length < SLICE_PARTITIONS_MIN) continue
      yield slice
      slice = []
    }
    last = first - 1
    width = Math.min(DAYS_AT_ONCE_MAX, DAYS_GROWTH * width)
  }
  if (slice.length > 0) yield slice
}

interface DaysRead {
  readonly projectId: string
  readonly firstDay: number
  readonly lastDay: number
}
