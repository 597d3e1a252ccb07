import type { ReachedUser, UsersAsked } from '../analysis/funnel-users.ts'
import { placeOf, userNumberAt, type Place } from '../segment/place.ts'
import type { Root } from '../segment/root.ts'
import { throwIfCancelled } from './cancel.ts'
import type { FoldPool } from './fold-pool.ts'
import { openLeftOut } from './left-out.ts'
import type { LoadedSection } from './load-sections.ts'
import { sectionsOfGroup, type SegmentPlan, type SegmentRead, type Unit } from './segment-plan.ts'
import type { Segments } from './segments.ts'

export interface SegmentUser extends Omit<ReachedUser, 'user'> {
  readonly userNumber: number
}

/** Fold groups that are folded together, and what is to be loaded for them. */
interface Wave {
  readonly load: Unit
  readonly fold: Unit
}

export type SegmentUsers = ReturnType<typeof openSegmentUsers>

/** Lists users of a funnel from what is published. */
export function openSegmentUsers({
  segments,
  pool,
}: {
  readonly segments: Segments
  readonly pool: FoldPool
}) {
  /**
   * Returns the first `limit` users after the one of a number (null: from the first on), in the order of
   * their places: by read group, then position. The order is the same for the same root and question. Reads
   * and folds one fold group, then two, four …, as long as users are missing. Throws QUERY_TOO_LARGE, and
   * CANCELLED or QUERY_TIMEOUT soon after the signal.
   */
  return async (
    read: SegmentRead,
    root: Root,
    page: {
      readonly asked: UsersAsked
      readonly after: Pick<SegmentUser, 'userNumber' | 'ordinal'> | null
      readonly limit: number
    },
  ): Promise<{ users: SegmentUser[]; eventCount: number }> => {
    const { asked, limit } = page
    const plan = await segments.plan(root, read)
    const { readGroupCount } = plan
    const leftOutOf = openLeftOut(plan)
    const amounts = { partitions: 0, bytes: 0, cacheHitBytes: 0, events: 0, foldMs: 0 }
    const { ofAll, loadUnit } = await segments.open(read, plan, amounts)
    const from = page.after === null ? null : placeOf(page.after.userNumber, readGroupCount)
    const users: SegmentUser[] = []
    let eventCount = 0
    for (const { load, fold } of wavesOf(plan, ofAll, from)) {
      if (users.length >= limit) break
      const { readGroup } = fold
      const after = readGroup === from?.readGroup ? { ...from, ordinal: page.after!.ordinal } : null
      const loaded = await loadUnit(load)
      const { shares, rowCount, ...task } = segments.sharesOf(loaded, fold, leftOutOf)
      throwIfCancelled(read.signal)
      eventCount += rowCount
      const listed = await Promise.all(
        shares.map((foldGroups) =>
          pool.list({ kind: 'list', asked, foldGroups, ...task, after, limit }, read.signal),
        ),
      )
      for (const { foldGroup, users: found } of listed.flatMap(({ groups }) => groups))
        for (const { user: position, ...times } of found) {
          const userNumber = userNumberAt({ readGroup, foldGroup, position }, readGroupCount)
          users.push({ userNumber, ...times })
        }
    }
    return { users: users.slice(0, limit), eventCount }
  }
}

/** Cuts what there is from a place on into waves, in the order of places. */
function wavesOf(plan: SegmentPlan, ofAll: readonly LoadedSection[], from: Place | null): Wave[] {
  const waves: Wave[] = []
  let width = 1
  for (const unit of plan.units) {
    const { readGroup } = unit
    if (from !== null && readGroup < from.readGroup) continue
    const first = readGroup === from?.readGroup ? from.foldGroup : 0
    const present = foldGroupsOf(unit, plan, ofAll)
    // What must be placed anew first is read whole.
    if (present === null) {
      waves.push({ load: unit, fold: { readGroup, foldGroups: { first, last: Infinity } } })
      continue
    }
    const left = present.filter((foldGroup) => foldGroup >= first)
    while (left.length > 0) {
      const some = left.splice(0, width)
      const wave = { readGroup, foldGroups: { first: some[0]!, last: some.at(-1)! } }
      waves.push({ load: wave, fold: wave })
      width *= 2
    }
  }
  return waves
}

/** Returns the fold groups of a unit that have rows, ascending; null where rows must be placed anew. */
function foldGroupsOf(
  { readGroup, foldGroups }: Unit,
  { alone, readGroupCount }: SegmentPlan,
  ofAll: readonly LoadedSection[],
): number[] | null {
  const found = new Set<number>()
  for (const { ref, section } of sectionsOfGroup(alone, readGroup, readGroupCount)) {
    if (ref.readGroupCount !== readGroupCount) return null
    for (let at = 0; at < section.runs.length; at += 3) found.add(section.runs[at + 1]!)
  }
  for (const { runs } of ofAll)
    for (let at = 0; at < runs.length; at += 4) if (runs[at] === readGroup) found.add(runs[at + 1]!)
  const { first, last } = foldGroups ?? { first: 0, last: Infinity }
  return [...found].filter((one) => one >= first && one <= last).sort((a, b) => a - b)
}
