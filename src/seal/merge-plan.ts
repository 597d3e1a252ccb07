import { dayOf } from '../event/day.ts'
import { groupBy } from '../group-by.ts'
import type { SegmentRef } from '../segment/directory.ts'
import { readGroupCountFor } from '../segment/place.ts'
import type { Page, Root } from '../segment/root.ts'
import { isExpired } from './read-segment.ts'

/** So many level-0 segments are merged at once; questions read each of them. */
const FRESH_COUNT_MIN = 16
/** Beyond it merging goes before sealing. */
export const FRESH_COUNT_MAX = 64
/** Level-0 rows that are worth merging, and that are merged at a time: bounds memory. */
const FRESH_ROWS_MIN = 500_000
const MERGE_ROWS_MAX = 1_000_000
const MERGE_BYTES_MAX = 100_663_296
/** So many segments of a level make one of the next. */
const FAN_IN = 4
/** A day that is over by so much is merged into one segment a name and read group. */
const CLOSED_DAYS = 2
/** Several segments of a closed day are left as they are while the smaller ones are so small a part. */
const CLOSED_SHARE_MIN = 0.1

/** Returns the level-0 segments to be merged now, oldest first; none when it is too early. */
export function freshToMerge({ fresh }: Root, nowMs: number): readonly SegmentRef[] {
  const rows = fresh.reduce((sum, { rowCount }) => sum + rowCount, 0)
  const expired = fresh.filter((ref) => isExpired(ref, nowMs))
  if (fresh.length >= FRESH_COUNT_MIN || rows >= FRESH_ROWS_MIN) return firstRows(fresh)
  return firstRows(expired)
}

function firstRows(refs: readonly SegmentRef[]): SegmentRef[] {
  const chosen: SegmentRef[] = []
  let rows = 0
  let bytes = 0
  for (const ref of refs) {
    rows += ref.rowCount
    bytes += bytesOf(ref)
    if (chosen.length > 0 && (rows > MERGE_ROWS_MAX || bytes > MERGE_BYTES_MAX)) break
    chosen.push(ref)
  }
  return chosen
}

function bytesOf({ section, packBytes }: SegmentRef): number {
  const columns = Object.values(section?.columns ?? {})
  return columns.reduce((sum, { bytes }) => sum + bytes, packBytes)
}

/** Finds segments of a month that are worth merging; null where there is none. */
export function worthMerging(
  page: Page,
  { readGroupCount, nowMs }: { readonly readGroupCount: number; readonly nowMs: number },
): readonly SegmentRef[] | null {
  const closedBefore = dayOf(nowMs) - CLOSED_DAYS + 1
  for (const refs of groupBy(page, keyOf).values()) {
    const inputs =
      sameLevel(refs) ?? outgrown(refs, readGroupCount) ?? ofClosedDay(refs, closedBefore)
    if (inputs !== null) return inputs
  }
  return null
}

/** The same for segments that can be merged with each other: of one name, day and read group, or several names'. */
function keyOf({ section, readGroupCount }: SegmentRef): string {
  return section === null
    ? 'rest'
    : `${section.day} ${readGroupCount} ${section.runs[0]} ${section.eventName}`
}

function sameLevel(refs: readonly SegmentRef[]): SegmentRef[] | null {
  for (const { level } of refs) {
    const same = refs.filter((ref) => ref.level === level)
    if (same.length < FAN_IN) continue
    const chosen = firstRows(same)
    if (chosen.length >= FAN_IN) return chosen
  }
  return null
}

/** Those that were placed when there were fewer read groups: a single one has a question place all others anew. */
function outgrown(refs: readonly SegmentRef[], readGroupCount: number): SegmentRef[] | null {
  const old = refs.filter((ref) => ref.readGroupCount < readGroupCount)
  return old.length === 0 ? null : firstRows(old)
}

function ofClosedDay(refs: readonly SegmentRef[], closedBefore: number): SegmentRef[] | null {
  if (
    refs.length < 2 ||
    refs.some(({ section, lastDay }) => section === null || lastDay >= closedBefore)
  )
    return null
  const rows = refs.map(({ rowCount }) => rowCount)
  const total = rows.reduce((sum, count) => sum + count, 0)
  const isWorthWhile = total - Math.max(...rows) >= CLOSED_SHARE_MIN * total
  return total <= MERGE_ROWS_MAX && isWorthWhile ? [...refs] : null
}

/** Returns how many read groups new segments are to have: as many as the users need, never fewer than now. */
export function readGroupCountOf(root: Root, userCount: number): number {
  return Math.max(root.readGroupCount, readGroupCountFor(userCount))
}
