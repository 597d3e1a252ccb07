import { deflateRawSync, inflateRawSync } from 'node:zlib'

export const QUARTER_MS = 900_000

/** Where a column of a section lies: in the segment's pack, or alone in a column of its own (offset 0). */
export interface ColumnPlace {
  readonly offset: number
  readonly bytes: number
}

/** The events of one name and UTC day in a segment. */
export interface Section {
  readonly eventName: string
  readonly day: number
  readonly rowCount: number
  /** Pairs: quarter hour of the day, rows in it; ascending, those without rows left out. */
  readonly quarters: readonly number[]
  /**
   * Triples: read group, fold group, rows; ascending, in the order of the rows. The rows of one are in
   * time order.
   */
  readonly runs: readonly number[]
  /** By name: see `section.ts`. */
  readonly columns: Readonly<Record<string, ColumnPlace>>
  /** Whether properties beyond the limit of columns are left out. */
  readonly isCut: boolean
}

/** What the root or a page says of a segment. */
export interface SegmentRef {
  readonly segment: string
  /** 0 fresh; merging several of a level makes one of the next. */
  readonly level: number
  /** The buckets' ranges by which its rows are placed. */
  readonly readGroupCount: number
  readonly firstDay: number
  readonly lastDay: number
  /** UTC day from which it counts as gone: its bytes live for a day more. */
  readonly expiresDay: number
  readonly rowCount: number
  /** Of the pack; 0 where each column has its own. */
  readonly packBytes: number
  /** Users that are first seen in it; level 0 only. */
  readonly userCount: number
  /** A segment of one section, which is here; null: several, in the segment's directory. */
  readonly section: Section | null
}

/** The column of a packed segment that holds its sections. */
export const DIRECTORY = 'directory'
/** The column of a packed segment that holds the columns of its sections, one after the other. */
export const PACK = 'pack'
/** The column of a level-0 segment that holds the users first seen in it. */
export const USERS = 'users'

/** Writes a document of ours: a directory, a page, a root. Small, read often: JSON, deflated. */
export function encodeDocument(document: unknown): Buffer {
  return deflateRawSync(JSON.stringify(document), { level: 1 })
}

/** Reads what `encodeDocument` wrote. Throws for other bytes. */
export function decodeDocument<T>(bytes: Uint8Array): T {
  return JSON.parse(inflated(bytes).toString('utf8')) as T
}

/** Far more than anything of ours unpacks to; what is damaged must not fill the memory. */
const INFLATED_BYTES_MAX = 536_870_912

/** Unpacks deflated bytes of ours. Throws an Error for other bytes. */
export function inflated(bytes: Uint8Array): Buffer {
  return inflateRawSync(bytes, { maxOutputLength: INFLATED_BYTES_MAX })
}
