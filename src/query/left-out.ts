import { ofReadGroup } from '../segment/place.ts'
import { erasedPlaces } from './erased-places.ts'
import type { SegmentPlan } from './segment-plan.ts'
import type { LeftOutUsers } from './worker-messages.ts'

/** Who is left out of a read group. */
export type LeftOutOf = (readGroup: number) => LeftOutUsers

/** Tells who is left out of each read group of a plan: who is erased, and who is not sampled. */
export function openLeftOut({
  erasedUsers,
  sampled,
  readGroupCount,
}: Pick<SegmentPlan, 'erasedUsers' | 'sampled' | 'readGroupCount'>): LeftOutOf {
  const places = erasedPlaces(erasedUsers, readGroupCount)
  return (readGroup) => ({
    erased: places.get(readGroup) ?? [],
    sampled: sampled === null ? null : ofReadGroup(sampled, readGroup, readGroupCount),
  })
}
