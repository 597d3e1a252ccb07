import { propertiesOf } from '../analysis/funnel-spec.ts'
import type { ReachedUser } from '../analysis/funnel-users.ts'
import { FOLD_GROUP_USERS } from '../segment/place.ts'
import type { Root } from '../segment/root.ts'
import type { FoldPool } from './fold-pool.ts'
import { firstAfter, type NamedPage, type NamedUser } from './row-users.ts'
import type { SegmentRead } from './segment-plan.ts'
import { NOBODY, VALUES, type Segments } from './segments.ts'

export type SegmentValues = ReturnType<typeof openSegmentValues>

/** Lists, from what is published, the values of a property that are behind a bar, where values are counted. */
export function openSegmentValues({
  segments,
  pool,
}: {
  readonly segments: Segments
  readonly pool: FoldPool
}) {
  /**
   * Returns the first `limit` values after one (null: from the first on), in the order of their texts; a value is told
   * as `userId`. Reads and folds as much as counting them does. Throws QUERY_TOO_LARGE, and CANCELLED or QUERY_TIMEOUT
   * soon after the signal.
   */
  return async (
    read: SegmentRead,
    root: Root,
    { asked, after, limit }: NamedPage,
  ): Promise<{ users: NamedUser[]; eventCount: number }> => {
    const plan = await segments.plan(root, read)
    const amounts = { partitions: 0, bytes: 0, cacheHitBytes: 0, events: 0, foldMs: 0 }
    const kept = propertiesOf(asked.spec)
    let users: NamedUser[] = []
    await segments.forEachClass(read, plan, kept, amounts, async (placed, numbering) => {
      const { shares, rowCount: _, ...task } = segments.sharesOf(placed, VALUES, () => NOBODY)
      const listed = await Promise.all(
        shares.map((foldGroups) =>
          pool.list(
            { kind: 'list', asked, foldGroups, ...task, after: null, limit: Infinity },
            read.signal,
          ),
        ),
      )
      const found = listed.flatMap(({ groups }) =>
        groups.flatMap(({ foldGroup, users: ofGroup }) =>
          ofGroup.map((one) => ({ ...one, user: foldGroup * FOLD_GROUP_USERS + one.user })),
        ),
      )
      const texts = await numbering.texts(Uint32Array.from(found, ({ user }) => user))
      const named = found.map((one, at) => ({ ...timesOf(one), userId: texts[at]! }))
      users = firstAfter([...users, ...named], after, limit)
    })
    return { users, eventCount: amounts.events }
  }
}

function timesOf({ ordinal, enteredMs, reachedMs }: ReachedUser): Omit<ReachedUser, 'user'> {
  return { ordinal, enteredMs, reachedMs }
}
