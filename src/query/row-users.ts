import { compareTexts } from '../analysis/condition.ts'
import {
  declareFunnelUsers,
  type FunnelUsers,
  type ReachedUser,
  type UsersAsked,
} from '../analysis/funnel-users.ts'
import { bucketOf } from '../event/bucket.ts'
import type { GroupRuns } from './column-builder.ts'
import type { RawEvents, RawRead } from './raw-events.ts'

/** A user, or a value where values are counted. */
export interface NamedUser extends Omit<ReachedUser, 'user'> {
  readonly userId: string
}

/** A page goes on after one (null: begins with the first), and has so many at most. */
export interface NamedPage {
  readonly asked: UsersAsked
  readonly after: Pick<NamedUser, 'userId' | 'ordinal'> | null
  readonly limit: number
}

/**
 * Returns a page of a funnel's users from the raw rows, in the order of bucket and id: reads buckets from that
 * user's on, as long as users are missing. Where values are counted, the order is that of their texts, and all is
 * read for each page. Throws what `RawEvents` does.
 */
export async function listRowUsers(
  rawEvents: RawEvents,
  read: RawRead,
  { asked, after, limit }: NamedPage,
): Promise<{ users: NamedUser[]; eventCount: number }> {
  const list = declareFunnelUsers(asked)
  const plan = await rawEvents.plan(read)
  if (read.countBy !== null) {
    let users: NamedUser[] = []
    const { events } = await rawEvents.forAllBuckets(read, plan, (all) => {
      users = firstAfter(usersOf(list, all), after, limit)
    })
    return { users, eventCount: events }
  }
  const firstBucket = after === null ? 0 : bucketOf(after.userId)
  const amounts = { partitions: 0, bytes: 0, events: 0 }
  const users: NamedUser[] = []
  for await (const { bucket, group } of rawEvents.bucketsFrom(read, plan, firstBucket, amounts)) {
    const afterInBucket = bucket === firstBucket ? after : null
    users.push(...firstAfter(usersOf(list, group), afterInBucket, limit))
    if (users.length >= limit) break
  }
  return { users: users.slice(0, limit), eventCount: amounts.events }
}

/** Returns the first `limit` of a list after one of it, in the order of their ids and ordinals. */
export function firstAfter(
  users: readonly NamedUser[],
  after: NamedPage['after'],
  limit: number,
): NamedUser[] {
  return users
    .filter((user) => after === null || compare(user, after) > 0)
    .sort(compare)
    .slice(0, limit)
}

type Place = Pick<NamedUser, 'userId' | 'ordinal'>

function compare(a: Place, b: Place): number {
  return compareTexts(a.userId, b.userId) || a.ordinal - b.ordinal
}

function usersOf({ openGroup }: FunnelUsers, { days, userIds }: GroupRuns): NamedUser[] {
  const group = openGroup(userIds.length)
  for (const day of days) group.fold(day)
  return group
    .close(null, Infinity)
    .map(({ user, ...times }) => ({ userId: userIds[user]!, ...times }))
}
