import type { ReachedUser, UsersAsked } from '../analysis/funnel-users.ts'
import type { FunnelSpec } from '../analysis/funnel-spec.ts'
import type { FunnelCounts } from '../analysis/tally.ts'
import type { SessionOptions } from '../store/session.ts'

/** What a thread is started with. */
export interface FoldStart {
  readonly database: Omit<SessionOptions, 'log' | 'metrics' | 'onWarning' | 'areBlobsViews'>
  readonly logLevel: string
}

/** A range of a column of an object. */
export interface ColumnRange {
  /** Names the bytes, for ever: objects are immutable. */
  readonly key: string
  readonly column: string
  readonly offset: number
  readonly bytes: number
}

export interface FetchTask {
  readonly kind: 'fetch'
  readonly projectId: string
  readonly objects: readonly {
    readonly object: string
    readonly ranges: readonly ColumnRange[]
    /** Whether the ranges are all there is of their columns: then one statement reads them. */
    readonly areWhole: boolean
    /** Times that are stored in two parts, to be put together. */
    readonly times: readonly {
      readonly key: string
      readonly low: ColumnRange
      readonly high: ColumnRange
      /** Rows of each run. */
      readonly runRows: readonly number[]
    }[]
  }[]
}

export interface Fetched {
  readonly partitions: number
  readonly buffers: readonly { readonly key: string; readonly buffer: SharedArrayBuffer }[]
}

/** The events of one name and day, of some fold groups. */
export interface SharedSection {
  readonly eventName: string
  readonly day: number
  readonly rowCount: number
  /** uint32. */
  readonly timeMs: SharedArrayBuffer
  /** uint16. */
  readonly user: SharedArrayBuffer
  readonly properties: readonly {
    readonly path: string
    readonly codes: SharedArrayBuffer
    readonly codeBytes: number
    /** As stored (segment/dictionary.ts). */
    readonly values: SharedArrayBuffer
    /** Names the values, so that they are decoded once. */
    readonly key: string
  }[]
  /** Triples: fold group, first row, row after the last. A fold group may have several. */
  readonly runs: readonly number[]
}

/** Whose rows of a read group are left out. */
export interface LeftOutUsers {
  /** Pairs: fold group, and the position in it of a user who is erased. */
  readonly erased: readonly number[]
  /** By bucket of the read group: 1 where its users are sampled. Null: all are. */
  readonly sampled: Uint8Array | null
}

export interface FoldTask extends LeftOutUsers {
  readonly kind: 'fold'
  readonly question: FoldQuestion
  readonly sections: readonly SharedSection[]
  readonly foldGroups: readonly number[]
}

export interface FoldQuestion {
  readonly analysis: 'funnel'
  readonly spec: FunnelSpec
}

export interface Folded {
  readonly counts: FunnelCounts
  readonly foldMs: number
}

/** Lists users of some fold groups, up to `limit` of each. */
export interface ListTask extends LeftOutUsers {
  readonly kind: 'list'
  readonly asked: UsersAsked
  readonly sections: readonly SharedSection[]
  /** Ascending. */
  readonly foldGroups: readonly number[]
  /** Of its fold group, what comes up to this one is left out. */
  readonly after: {
    readonly foldGroup: number
    readonly position: number
    readonly ordinal: number
  } | null
  readonly limit: number
}

export interface Listed {
  readonly groups: readonly {
    readonly foldGroup: number
    readonly users: readonly ReachedUser[]
  }[]
}

/** Places a section's rows for fewer read groups than it was written for (segment/replace.ts). */
export interface ReplaceTask {
  readonly kind: 'replace'
  readonly section: SharedSection
  /** Quadruples: read group, fold group, first row, row after the last. */
  readonly runs: readonly number[]
  readonly from: number
  readonly to: number
}

export interface Replaced {
  /** The same events; its own `runs` are empty. */
  readonly section: SharedSection
  readonly runs: readonly number[]
}

/** The values of which a hash, modulo `count`, is `index`. */
export interface ValueClass {
  readonly count: number
  readonly index: number
}

/** Numbers the values of a class that dictionaries hold (number-values.ts). */
export interface NumberTask {
  readonly kind: 'number'
  /** Made once, for all dictionaries that are to share numbers. */
  readonly numbering: string
  readonly valueClass: ValueClass
  /** Of all values; the others have no number (event/bucket.ts). */
  readonly sample: number
  /** How many values it has by now. */
  readonly knownCount: number
  /** About what all its values may take in memory. */
  readonly bytesMax: number
  /** As stored (segment/dictionary.ts). */
  readonly dictionaries: readonly SharedArrayBuffer[]
}

export interface Numbered {
  /**
   * By dictionary, then code (uint32): the number of the value and 1 more; 0 for those that have none. Null where
   * the values take more memory than they may.
   */
  readonly tables: readonly SharedArrayBuffer[] | null
  readonly knownCount: number
}

/** Tells values by the numbers that they were given. */
export interface TextsTask {
  readonly kind: 'texts'
  readonly numbering: string
  readonly numbers: Uint32Array
}

/** Places a section's rows by the values of a property instead of users (segment/place-by-value.ts). */
export interface PlaceTask {
  readonly kind: 'place'
  readonly section: SharedSection
  readonly property: string
  /** Of the property's dictionary, as `Numbered` has it. */
  readonly table: SharedArrayBuffer
  /** The properties that are still needed then. */
  readonly kept: readonly string[]
  /** Triples: first row, row after the last, and which position among these rows is left out. */
  readonly erased: readonly number[]
}

export type Task =
  | FetchTask
  | FoldTask
  | ListTask
  | ReplaceTask
  | NumberTask
  | PlaceTask
  | TextsTask
  | { readonly kind: 'forget'; readonly numbering: string }
  | { readonly kind: 'metrics' }
