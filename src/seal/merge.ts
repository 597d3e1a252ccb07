import { randomUUID } from 'node:crypto'
import { dayOf, monthOfDay } from '../event/day.ts'
import { groupBy } from '../group-by.ts'
import { encodeDocument, type SegmentRef } from '../segment/directory.ts'
import type { Page, Root } from '../segment/root.ts'
import { joinSections, splitByReadGroup, type SectionRows } from '../segment/section.ts'
import type { Objects } from '../store/objects.ts'
import { PAGE, type FoundRoot, type PublishedRoot, type Snapshots } from '../store/snapshots.ts'
import { freshToMerge, readGroupCountOf, worthMerging } from './merge-plan.ts'
import type { Publish } from './publish.ts'
import { isExpired, readSegment } from './read-segment.ts'
import { changedLists } from './user-lists.ts'
import {
  packedSegment,
  segmentAlone,
  type NewSegment,
  type SealProject,
  type SegmentPlace,
} from './write-segment.ts'

/** A name with so many rows in a merge gets segments of its own; the others of a month share one. */
const ALONE_ROWS_MIN = 5_000

/** What became of a merge: none was worth while, it is published, or somebody else published first. */
export type Merged =
  | { readonly outcome: 'none' | 'lost' }
  | {
      readonly outcome: 'merged'
      /** Lists made of users that were published before. */
      readonly userLists: readonly string[]
    }

export type Merge = ReturnType<typeof openMerge>

/**
 * Makes few large segments of many small ones: level 0 into the pages of its months, then segments of a
 * level into one of the next, as log-structured merge trees do (O'Neil et al. 1996). Each event is written
 * once a level.
 */
export function openMerge(dependencies: {
  readonly objects: Objects
  readonly snapshots: Snapshots
  readonly publish: Publish
  readonly nowMs: () => number
}) {
  const { objects, snapshots, publish, nowMs } = dependencies

  /** Replaces level-0 segments by merged ones, and their new users by a list. */
  async function mergeFresh(
    project: SealProject,
    from: FoundRoot,
    { inputs, userCount }: { readonly inputs: readonly SegmentRef[]; readonly userCount: number },
  ): Promise<Merged> {
    const { projectId, retentionDays } = project
    const readGroupCount = readGroupCountOf(from.root, userCount)
    const made: NewSegment[] = []
    const parts: SectionRows[] = []
    const live = inputs.filter((ref) => !isExpired(ref, nowMs()))
    for (const ref of live)
      for (const part of await readSegment(dependencies, projectId, ref)) parts.push(part)
    const byMonth = groupBy(parts, ({ day }) => monthOfDay(day))
    for (const ofMonth of byMonth.values())
      for (const segment of mergedSegments(ofMonth, { level: 1, readGroupCount, retentionDays }))
        made.push(segment)
    const isInput = new Set(inputs.map(({ segment }) => segment))
    const root = {
      ...from.root,
      readGroupCount,
      fresh: from.root.fresh.filter(({ segment }) => !isInput.has(segment)),
    }
    return await replace(project, { from, root }, { made, inputs, freed: inputs })
  }

  /** Writes new segments and pages, and publishes them in the place of others. */
  async function replace(
    project: SealProject,
    { from, root }: { readonly from: PublishedRoot; readonly root: Root },
    change: {
      readonly made: readonly NewSegment[]
      readonly inputs: readonly SegmentRef[]
      /** Level-0 segments among the inputs, whose users are to be listed. */
      readonly freed?: readonly SegmentRef[]
    },
  ): Promise<Merged> {
    const { projectId } = project
    const { made, inputs, freed = [] } = change
    const gone = new Set(inputs.map(({ segment }) => segment))
    const isKept = (ref: SegmentRef) => !gone.has(ref.segment) && !isOver(project, ref)
    const pages: Record<string, string> = { ...root.pages }
    const pageWrites: { object: string; page: Page }[] = []
    const dropped = new Set(gone)
    const months = new Set([...made.map(({ ref }) => ref), ...inputs].map(monthOf))
    for (const month of months) {
      const old = pages[month] === undefined ? [] : await snapshots.page(projectId, pages[month])
      const kept = old.filter(isKept)
      for (const ref of old) if (!isKept(ref)) dropped.add(ref.segment)
      const page = [...kept, ...made.map(({ ref }) => ref).filter((ref) => monthOf(ref) === month)]
      if (page.length === 0) delete pages[month]
      else {
        const object = randomUUID()
        pageWrites.push({ object, page })
        pages[month] = object
      }
    }
    const lists = changedLists(root.userLists, freed)
    const next = { ...root, pages, userLists: lists.userLists }
    const published = await publish({
      ...{ projectId, from, root: next },
      added: [
        ...made.map(({ ref }) => ref.segment),
        ...pageWrites.map(({ object }) => object),
        ...lists.made.map(({ object }) => object),
      ],
      givenUp: [
        ...dropped,
        ...Object.entries(root.pages).flatMap(([month, id]) => (pages[month] === id ? [] : [id])),
        ...lists.givenUp,
      ],
      async write() {
        for (const segment of made) await segment.write(objects, projectId, nowMs())
        for (const { object, page } of pageWrites)
          await objects.write({ projectId, object }, [[PAGE, encodeDocument(page)]], 0)
        await lists.write(objects, projectId)
      },
      // Whose rows they are does not matter to it.
      isUntouchedBy: () => true,
    })
    if (published === null) return { outcome: 'lost' }
    const userLists = lists.made.map(({ object }) => object)
    return { outcome: 'merged', userLists }
  }

  async function mergeMonth(
    project: SealProject,
    from: FoundRoot,
    inputs: readonly SegmentRef[],
  ): Promise<Merged> {
    const parts: SectionRows[] = []
    for (const ref of inputs)
      for (const part of await readSegment(dependencies, project.projectId, ref)) parts.push(part)
    const level = Math.max(...inputs.map((ref) => ref.level)) + 1
    const { readGroupCount } = from.root
    const { retentionDays } = project
    const made = mergedSegments(parts, { level, readGroupCount, retentionDays })
    return await replace(project, { from, root: from.root }, { made, inputs })
  }

  /** Whether the events of a segment have ended, by the retention that they came with or the one of now. */
  const isOver = ({ retentionDays }: SealProject, ref: SegmentRef) =>
    isExpired(ref, nowMs()) || ref.lastDay < dayOf(nowMs()) - retentionDays - 1

  return {
    /** Does one merge, if there is any to be done: level 0 first. */
    async mergeOnce(
      project: SealProject,
      from: FoundRoot,
      countUsers: () => Promise<number>,
    ): Promise<Merged> {
      const inputs = freshToMerge(from.root, nowMs())
      if (inputs.length > 0)
        return await mergeFresh(project, from, { inputs, userCount: await countUsers() })
      const { pages, readGroupCount } = from.root
      for (const pageId of Object.values(pages)) {
        const page = await snapshots.page(project.projectId, pageId)
        const expired = page.filter((ref) => isOver(project, ref))
        if (expired.length > 0)
          return await replace(project, { from, root: from.root }, { made: [], inputs: expired })
        const worth = worthMerging(page, { readGroupCount, nowMs: nowMs() })
        if (worth !== null) return await mergeMonth(project, from, worth)
      }
      return { outcome: 'none' }
    },
  }
}

/** Merges sections of one month: a name's own segments where it has many rows, one packed for the rest. */
export function mergedSegments(parts: readonly SectionRows[], place: SegmentPlace): NewSegment[] {
  const made: NewSegment[] = []
  const rest: SectionRows[] = []
  for (const same of groupBy(parts, ({ day, eventName }) => `${day} ${eventName}`).values()) {
    const rows = joinSections(same)
    if (rows.rowCount < ALONE_ROWS_MIN) rest.push(rows)
    else
      for (const { rows: ofGroup } of splitByReadGroup(rows, place.readGroupCount))
        made.push(segmentAlone(ofGroup, place))
  }
  if (rest.length > 0) made.push(packedSegment(rest, place))
  return made
}

function monthOf({ firstDay }: SegmentRef): number {
  return monthOfDay(firstDay)
}
