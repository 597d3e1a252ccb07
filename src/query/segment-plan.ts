import { AppError } from '../error.ts'
import { sampledBuckets } from '../event/bucket.ts'
import { dayOf, monthOfDay } from '../event/day.ts'
import { SESSION_ID_PATH } from '../segment/columns.ts'
import type { Section, SegmentRef } from '../segment/directory.ts'
import { ofReadGroup } from '../segment/place.ts'
import type { Root } from '../segment/root.ts'
import { codesColumn, valuesColumn } from '../segment/section.ts'
import type { Snapshots } from '../store/snapshots.ts'
import { firstReadMs, openReadStarts, type EventsRead } from './history.ts'

/** What a question needs of the segments. Days that it touches are read whole. */
export interface SegmentRead extends EventsRead {
  readonly projectId: string
  /** SESSION_ID_PATH may be among them. */
  readonly properties: readonly string[]
  /** Of one name: those of its events that are looked at. */
  readonly propertiesFor: (eventName: string) => readonly string[]
  /** The property whose values are counted, one of the properties; null: users are. */
  readonly countBy: string | null
  /** Above 0; 1: everybody. Of users by their buckets, or of the values that are counted (event/bucket.ts). */
  readonly sample: number
  readonly nowMs: number
  readonly signal: AbortSignal
}

export interface FoundSection {
  readonly ref: SegmentRef
  readonly section: Section
}

export interface PlannedSection extends FoundSection {
  /** Those of its properties that are looked at. */
  readonly properties: readonly string[]
}

/** Sections, or the part of them that some fold groups have, which are folded together. */
export interface Unit {
  readonly readGroup: number
  /** Null: all of them. */
  readonly foldGroups: { readonly first: number; readonly last: number } | null
}

/** What counting by the values of a property takes: all sections that have it, once for each class of values. */
export interface ValuePlan {
  readonly property: string
  readonly sections: readonly PlannedSection[]
  readonly rowCount: number
  /** So many that the rows of one are within memory, if the values have about as many each. */
  readonly classCount: number
}

export interface SegmentPlan {
  /** Of one read group each. */
  readonly alone: readonly PlannedSection[]
  /** Of several read groups: read once, folded in each. */
  readonly shared: readonly PlannedSection[]
  /** By which all rows are placed: the coarsest of the sections'. */
  readonly readGroupCount: number
  readonly units: readonly Unit[]
  /** The numbers of users who are erased: their rows are left out. */
  readonly erasedUsers: readonly number[]
  /** By bucket: 1 where its users are sampled; rows of others are left out. Null: all are. */
  readonly sampled: Uint8Array | null
  /** To be read, in all passes. */
  readonly rowCount: number
  readonly bytes: number
  /** Null where users are counted. */
  readonly values: ValuePlan | null
  /** Whether a property that is asked about may be beyond the limit of columns. */
  readonly isCut: boolean
}

/** Finds the sections that a question needs, and how to fold them within `unitBytesMax` at a time. */
export async function planSegments(
  snapshots: Snapshots,
  root: Root,
  read: SegmentRead,
  unitBytesMax: number,
): Promise<SegmentPlan> {
  // Values are sampled instead of users where these are counted, and may be anybody's.
  const sampled = read.countBy !== null || read.sample === 1 ? null : sampledBuckets(read.sample)
  const isSampled = (readGroup: number, { ref }: FoundSection) =>
    sampled === null || ofReadGroup(sampled, readGroup, ref.readGroupCount).includes(1)
  const found = await sectionsOf(snapshots, root, read)
  const sections = found
    .filter((one) => [...readGroupsOf(one)].some((readGroup) => isSampled(readGroup, one)))
    .map((one): PlannedSection => ({
      ...one,
      properties: read.propertiesFor(one.section.eventName),
    }))
  const { userNumbers } = await snapshots.erased(read.projectId, root)
  const readGroupCount = sections.reduce(
    (least, { ref }) => Math.min(least, ref.readGroupCount),
    root.readGroupCount,
  )
  const alone: PlannedSection[] = []
  const shared: PlannedSection[] = []
  for (const planned of sections)
    if (planned.ref.section !== null && readGroupsOf(planned).size === 1) alone.push(planned)
    else shared.push(planned)
  const groupOf = (own: number, { ref }: PlannedSection) =>
    coarse(own, ref.readGroupCount, readGroupCount)
  const byGroup = new Map<number, PlannedSection[]>()
  for (const planned of shared)
    for (const own of readGroupsOf(planned))
      if (isSampled(own, planned)) byGroup.set(groupOf(own, planned), [])
  for (const planned of alone) {
    const readGroup = groupOf(planned.section.runs[0]!, planned)
    const ofGroup = byGroup.get(readGroup)
    if (ofGroup === undefined) byGroup.set(readGroup, [planned])
    else ofGroup.push(planned)
  }
  const units = [...byGroup].flatMap(([readGroup, ofGroup]) =>
    unitsOf(readGroup, ofGroup, { readGroupCount, unitBytesMax }),
  )
  const values = planValues(sections, read, unitBytesMax)
  return {
    ...{ alone, shared, readGroupCount, values, erasedUsers: userNumbers, sampled },
    units: units.sort((a, b) => a.readGroup - b.readGroup),
    rowCount: values === null ? rowsOf(sections) : values.classCount * values.rowCount,
    bytes: sections.reduce((sum, planned) => sum + neededBytes(planned), 0),
    isCut:
      // Session ids are never left out.
      read.properties.some((path) => path !== SESSION_ID_PATH) &&
      sections.some(({ section }) => section.isCut),
  }
}

function planValues(
  sections: readonly PlannedSection[],
  { countBy, sample }: SegmentRead,
  classBytesMax: number,
): ValuePlan | null {
  if (countBy === null) return null
  const having = sections.filter(({ section }) => codesColumn(countBy) in section.columns)
  const bytes = having.reduce((sum, planned) => sum + neededBytes(planned), 0)
  const classCount = Math.max(1, Math.ceil((sample * bytes) / classBytesMax))
  return { property: countBy, sections: having, rowCount: rowsOf(having), classCount }
}

function rowsOf(sections: readonly PlannedSection[]): number {
  return sections.reduce((sum, { section }) => sum + section.rowCount, 0)
}

/** What a question that would read more than it may is refused with. */
export function tooManyEvents(eventCount: number, eventsMax: number): AppError {
  return new AppError(
    'QUERY_TOO_LARGE',
    `this would read ${eventCount} events, and at most ${eventsMax} are allowed: ` +
      'ask about fewer days or events',
  )
}

/** Finds the sections of some names, on the days from which on each is read, that have not expired. */
export async function sectionsOf(
  snapshots: Snapshots,
  root: Root,
  read: Pick<SegmentRead, 'projectId' | keyof EventsRead | 'nowMs'>,
): Promise<FoundSection[]> {
  const { projectId, range, nowMs } = read
  if (range.startMs >= range.endMs) return []
  const startOf = openReadStarts(read)
  const firstDay = dayOf(firstReadMs(read))
  const lastDay = dayOf(range.endMs - 1)
  const today = dayOf(nowMs)
  const pageIds = Object.entries(root.pages)
    .filter(([month]) => +month >= monthOfDay(firstDay) && +month <= monthOfDay(lastDay))
    .map(([, pageId]) => pageId)
  const pages = await Promise.all(pageIds.map((pageId) => snapshots.page(projectId, pageId)))
  const refs = [...pages.flat(), ...root.fresh].filter(
    (ref) => ref.firstDay <= lastDay && ref.lastDay >= firstDay && ref.expiresDay > today,
  )
  const found = await Promise.all(
    refs.map(async (ref) => {
      const sections = await snapshots.sections(projectId, ref)
      return sections
        .filter(({ day, eventName }) => day <= lastDay && day >= dayOf(startOf(eventName)))
        .map((section) => ({ ref, section }))
    }),
  )
  return found.flat()
}

/** Splits a read group, between fold groups, where its columns take more memory than they may. */
function unitsOf(
  readGroup: number,
  sections: readonly PlannedSection[],
  {
    readGroupCount,
    unitBytesMax,
  }: {
    readonly readGroupCount: number
    readonly unitBytesMax: number
  },
): Unit[] {
  const bytes = sections.reduce((sum, planned) => sum + neededBytes(planned), 0)
  const arePlaced = sections.every(({ ref }) => ref.readGroupCount === readGroupCount)
  if (bytes <= unitBytesMax || !arePlaced) return [{ readGroup, foldGroups: null }]
  const rowsOf = new Map<number, number>()
  for (const { section } of sections)
    for (let at = 0; at < section.runs.length; at += 3)
      rowsOf.set(
        section.runs[at + 1]!,
        (rowsOf.get(section.runs[at + 1]!) ?? 0) + section.runs[at + 2]!,
      )
  const rowCount = [...rowsOf.values()].reduce((sum, rows) => sum + rows, 0)
  const rowsMax = (unitBytesMax / bytes) * rowCount
  const units: { readGroup: number; foldGroups: { first: number; last: number } }[] = []
  let rows = 0
  for (const [foldGroup, ofGroup] of [...rowsOf].sort(([a], [b]) => a - b)) {
    const open = units.at(-1)
    if (open === undefined || rows + ofGroup > rowsMax) {
      const first = open === undefined ? 0 : foldGroup
      if (open !== undefined) open.foldGroups.last = foldGroup - 1
      units.push({ readGroup, foldGroups: { first, last: Infinity } })
      rows = 0
    }
    rows += ofGroup
  }
  return units
}

/** Of a user and a time, once they are in memory. */
const ROW_BYTES = 6

/** Returns the bytes that a question has in memory of a section. */
export function neededBytes({ section, properties }: PlannedSection): number {
  const { rowCount, columns } = section
  const ofProperties = properties.reduce(
    (sum, path) =>
      sum + (columns[codesColumn(path)]?.bytes ?? 0) + (columns[valuesColumn(path)]?.bytes ?? 0),
    0,
  )
  return rowCount * ROW_BYTES + ofProperties
}

function readGroupsOf({ section }: FoundSection): Set<number> {
  const groups = new Set<number>()
  for (let at = 0; at < section.runs.length; at += 3) groups.add(section.runs[at]!)
  return groups
}

/** Returns those, of one read group each, whose rows are placed in a read group of fewer. */
export function sectionsOfGroup(
  alone: readonly PlannedSection[],
  readGroup: number,
  readGroupCount: number,
): PlannedSection[] {
  return alone.filter(
    ({ ref, section }) =>
      coarse(section.runs[0]!, ref.readGroupCount, readGroupCount) === readGroup,
  )
}

/** The read group, of fewer ones, that holds one of more. */
function coarse(readGroup: number, from: number, to: number): number {
  return Math.floor((readGroup * to) / from)
}
