import { compareTexts } from '../analysis/condition.ts'
import { declareFunnelUsers, type ReachedUser, type UsersAsked } from '../analysis/funnel-users.ts'
import { bucketOf } from '../event/bucket.ts'
import type { RawEvents, RawRead } from './raw-events.ts'

/** Where a list goes on. */
export type AfterRowUser = Pick<RowUser, 'userId' | 'ordinal'>

export interface RowUser extends Omit<ReachedUser, 'user'> {
  readonly userId: string
}

/**
 * Returns the first `limit` users of a funnel after one (null: from the first on), in the order of bucket
 * and id, from the raw rows. Reads buckets from that user's on, as long as users are missing. Throws what
 * `RawEvents` does.
 */
export async function listRowUsers(
  rawEvents: RawEvents,
  read: RawRead,
  page: { readonly asked: UsersAsked; readonly after: AfterRowUser | null; readonly limit: number },
): Promise<{ users: RowUser[]; eventCount: number }> {
  const { asked, after, limit } = page
  const { openGroup } = declareFunnelUsers(asked)
  const firstBucket = after === null ? 0 : bucketOf(after.userId)
  const amounts = { partitions: 0, bytes: 0, events: 0 }
  const users: RowUser[] = []
  const plan = await rawEvents.plan(read)
  for await (const bucket of rawEvents.bucketsFrom(read, plan, firstBucket, amounts)) {
    const { days, userIds } = bucket.group
    const group = openGroup(userIds.length)
    for (const day of days) group.fold(day)
    const found = group
      .close(null, Infinity)
      .map(({ user, ...times }) => ({ userId: userIds[user]!, ...times }))
    const isLater = ({ userId, ordinal }: RowUser) =>
      after === null ||
      bucket.bucket > firstBucket ||
      (compareTexts(userId, after.userId) || ordinal - after.ordinal) > 0
    const inOrder = (a: RowUser, b: RowUser) =>
      compareTexts(a.userId, b.userId) || a.ordinal - b.ordinal
    users.push(...found.filter(isLater).sort(inOrder))
    if (users.length >= limit) break
  }
  return { users: users.slice(0, limit), eventCount: amounts.events }
}
