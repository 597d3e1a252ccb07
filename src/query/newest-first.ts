import { EVENT_ID_LAST, type EventPosition } from '../store/event-row.ts'

/** Where an event stands among all: newest first, of one moment by bucket, then in the order of its partition. */
export interface Place extends EventPosition {
  readonly bucket: number
}

/** What one partition holds, newest first. */
export interface Stream<T extends Place> {
  /** Reads about so many rows on. Always some, or the end. */
  readonly read: (rowsMax: number) => Promise<StreamPart<T>>
}

export interface StreamPart<T extends Place> {
  /** Those of the rows that are looked for, in their order. */
  readonly matches: readonly T[]
  /** The last row that was read, or one as far; null at the end. */
  readonly reached: Place | null
}

export interface NewestFound<T extends Place> {
  readonly found: readonly T[]
  /** Where it was given up, so that nothing newer is missing; null where nothing is left to read. */
  readonly givenUpAt: Place | null
}

/** Of one partition at a time: a thousand of them are begun with few rows each. */
const FIRST_ROWS_MIN = 8
const ROWS_MAX = 120
const ROWS_GROWTH = 4

/**
 * Finds the newest events of many streams. `cut` shortens a list, newest first, to what is wanted, and tells
 * whether it is full. Streams are read in rounds, all at once that may still have one of these: those not yet read
 * as far as the last of a full list, which is the threshold algorithm of Fagin, Lotem and Naor. Holds no more
 * than a full list and what is being read. Gives up after the round in which `isSpent` says so.
 */
export async function newestOf<T extends Place>(
  streams: readonly Stream<T>[],
  { cut, isSpent, wanted }: Wanted<T>,
): Promise<NewestFound<T>> {
  let found: readonly T[] = []
  let isFull = false
  let open: OpenStream<T>[] = streams.map((stream) => ({ stream, reached: NEWEST }))

  async function readOn(one: OpenStream<T>, rowsMax: number): Promise<void> {
    const { matches, reached } = await one.stream.read(rowsMax)
    one.reached = reached
    // Two runs in order: sorting them is one pass. What is equal stays in the order in which it was read.
    const both = cut([...found, ...matches].sort(byAge))
    found = both.kept
    isFull = both.isFull
  }

  let rowsMax = Math.max(FIRST_ROWS_MIN, Math.ceil((2 * wanted) / Math.max(1, streams.length)))
  for (;;) {
    open = open.filter(({ reached }) => reached !== null)
    const last = isFull ? found.at(-1)! : null
    const needed = last === null ? open : open.filter(({ reached }) => byAge(reached!, last) < 0)
    if (needed.length === 0) return { found, givenUpAt: null }
    if (needed.some(({ reached }) => reached === NEWEST) || !isSpent()) {
      const rows = Math.min(rowsMax, ROWS_MAX)
      await Promise.all(needed.map((one) => readOn(one, rows)))
      rowsMax = rows * ROWS_GROWTH
      continue
    }
    const givenUpAt = needed.map(({ reached }) => reached!).reduce(newer)
    return { found: found.filter((one) => byAge(one, givenUpAt) <= 0), givenUpAt }
  }
}

interface Wanted<T> {
  readonly wanted: number
  readonly cut: (events: readonly T[]) => { readonly kept: readonly T[]; readonly isFull: boolean }
  readonly isSpent: () => boolean
}

interface OpenStream<T extends Place> {
  readonly stream: Stream<T>
  reached: Place | null
}

const NEWEST: Place = { eventTimeMs: Infinity, bucket: Infinity, eventId: EVENT_ID_LAST }

/** Negative where `a` is newer. */
function byAge(a: Place, b: Place): number {
  return a.eventTimeMs === b.eventTimeMs ? b.bucket - a.bucket : b.eventTimeMs - a.eventTimeMs
}

function newer(a: Place, b: Place): Place {
  return byAge(b, a) < 0 ? b : a
}
