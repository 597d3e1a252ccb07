import { decodeDocument, encodeDocument, type SegmentRef } from './directory.ts'
import type { HashKey } from './identity-hash.ts'

const FORMAT = 1
/** Notes of loose objects are kept for 30 days. */
export const LOOSE_HOURS_MAX = 720

/** How far apart the clocks of the machines may be before `asOf` says too much. */
export const AS_OF_SKEW_MS = 1_000

/** How far the events of a writer are sealed. */
export interface WriterPosition {
  /** Every number up to this one is sealed, but for the gaps. -1: none. */
  readonly through: number
  /** Numbers below it that were not to be seen yet, ascending. */
  readonly gaps: readonly number[]
  /** The rows of every commit up to this one are known to be written. */
  readonly rowsThrough: number
  /** The writer is silent and its gaps are void: nothing more is read of it. */
  readonly isClosed: boolean
}

/** Users in ascending order of their numbers, in chunks of 4,096 (user-list.ts). */
export interface UserListRef {
  readonly object: string
  readonly level: number
  readonly userCount: number
}

/**
 * All that is published of a project, or where to find it. Whoever has read a root has one consistent
 * snapshot of everything: what it names is never changed.
 */
export interface Root {
  /** Drawn for each try to publish, so that one whose outcome is unknown can be known again. */
  readonly publication: string
  /** All events acknowledged before it are in. Milliseconds since 1970. */
  readonly asOfMs: number
  /** Raw rows are being sealed, since commits may have expired: to be done again if it is broken off. */
  readonly isRecovering: boolean
  readonly hashKey: HashKey
  readonly readGroupCount: number
  readonly writers: Readonly<Record<string, WriterPosition>>
  /** Level-0 segments, oldest first. */
  readonly fresh: readonly SegmentRef[]
  /** By UTC month since 1970: the page that lists the merged segments of its days. */
  readonly pages: Readonly<Record<string, string>>
  readonly userLists: readonly UserListRef[]
  /** The object that lists the erased users (erased-set.ts); null where there are none. */
  readonly erased: string | null
  /** How many publications were erasures, which change nothing else. */
  readonly erasureCount: number
  /** When the newest of the events that were sealed was received, by our clock. Never falls. */
  readonly newestReceivedAtMs: number
  /** The newest hour, since 1970, in which objects were written or given up. Never falls. */
  readonly hour: number
  /** Loose objects of the hours before it are deleted. */
  readonly sweptHour: number
}

const NONE_ERASED = { erased: null, erasureCount: 0, newestReceivedAtMs: 0 }

/** A page: the merged segments that hold events of a month. */
export type Page = readonly SegmentRef[]

/** The root of a project that is there since an hour, before anything is published. */
export function emptyRoot(
  hashKey: HashKey,
  { hour, sinceHour }: { readonly hour: number; readonly sinceHour: number },
): Root {
  return {
    ...{ publication: '', hashKey, hour },
    asOfMs: 0,
    isRecovering: false,
    readGroupCount: 1,
    writers: {},
    fresh: [],
    pages: {},
    userLists: [],
    ...NONE_ERASED,
    // Whoever tried to publish before may have left objects behind.
    sweptHour: Math.max(hour - LOOSE_HOURS_MAX, sinceHour - 1),
  }
}

export function encodeRoot(root: Root): Buffer {
  return encodeDocument({ format: FORMAT, ...root })
}

/** Reads what `encodeRoot` wrote. Throws an Error for a root of another format. */
export function decodeRoot(bytes: Uint8Array): Root {
  const { format, ...root } = decodeDocument<Root & { format: number }>(bytes)
  if (format !== FORMAT) throw new Error(`root: format ${format}`)
  // What was published before users could be erased says nothing of them.
  return { ...NONE_ERASED, ...root }
}

/** Whether no pass has published over it yet: a root may be there for an erasure alone. */
export function isUnsealed({ asOfMs, writers }: Root): boolean {
  return asOfMs === 0 && Object.keys(writers).length === 0
}

/** Returns every object that a root leads to by itself; its pages name more. */
export function objectsOfRoot({ fresh, pages, userLists, erased }: Root): string[] {
  return [
    ...(erased === null ? [] : [erased]),
    ...fresh.map(({ segment }) => segment),
    ...Object.values(pages),
    ...userLists.map(({ object }) => object),
  ]
}
