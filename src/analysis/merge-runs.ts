/**
 * Rows of one day on their way through an analysis: columns of one type whatever the runs are of, so that
 * every loop over them stays fast. Used again for the next day; `growRows` makes room.
 */
export interface Rows {
  /** Milliseconds of the day. */
  timeMs: Uint32Array
  /** Positions within the fold group. */
  user: Uint32Array
  /** Bit k: the row's event satisfies step k. */
  mask: Uint32Array
  /** What to break down by, as a code; meaningful while values are read only. */
  code: Uint32Array
  /** While runs are merged: the row that a row was copied from. */
  source: Uint32Array
}

/** The rows `from` to `to` - 1. */
export interface Span {
  readonly from: number
  readonly to: number
}

const ROWS_AT_FIRST = 1_024

export function openRows(): Rows {
  const column = () => new Uint32Array(ROWS_AT_FIRST)
  return {
    ...{ timeMs: column(), user: column(), mask: column(), code: column(), source: column() },
  }
}

/** Makes room for `rowCount` rows in all; those present stay. */
export function growRows(rows: Rows, rowCount: number): void {
  if (rowCount <= rows.timeMs.length) return
  const size = 2 * rowCount
  rows.timeMs = grown(rows.timeMs, size)
  rows.user = grown(rows.user, size)
  rows.mask = grown(rows.mask, size)
  rows.code = grown(rows.code, size)
  rows.source = grown(rows.source, size)
}

/**
 * Merges spans that are in time order each and follow one another from row 0. Returns the span of the
 * result, which is put after them; a single span is its own result. Rows of one span stay in their order;
 * rows of equal time of several spans come in any.
 *
 * The two shortest first (Huffman 1952), so that a few rows beside many are not moved with these again and
 * again: at most rows × log2(spans) steps. Only times and row numbers are moved, until the order is known.
 */
export function mergeRuns(rows: Rows, spans: readonly Span[]): Span {
  if (spans.length === 0) return { from: 0, to: 0 }
  if (spans.length === 1) return spans[0]!
  if (spans.length === 2) return mergeWhole(rows, spans[0]!, spans[1]!)
  const shortest = spans.toSorted((a, b) => lengthOf(a) - lengthOf(b))
  // Spans are made longer and longer, so that those made are a sorted queue as well.
  const made: Span[] = []
  let shortestIndex = 0
  let madeIndex = 0
  const take = (): Span => {
    const given = shortest[shortestIndex]
    const own = made[madeIndex]
    const isOwn = given === undefined || (own !== undefined && lengthOf(own) < lengthOf(given))
    return isOwn ? made[madeIndex++]! : shortest[shortestIndex++]!
  }
  let end = spans.at(-1)!.to
  growRows(rows, 3 * end)
  const { source } = rows
  for (let row = 0; row < end; row++) source[row] = row
  while (made.length < spans.length - 1) {
    const a = take()
    const b = take()
    const span = { from: end, to: end + lengthOf(a) + lengthOf(b) }
    growRows(rows, span.to)
    mergeTwo(rows, a, b, end)
    made.push(span)
    end = span.to
  }
  const merged = made.at(-1)!
  gather(rows, merged)
  return merged
}

/** For two spans, which are most: their rows are moved once, so all columns are moved at once. */
function mergeWhole(rows: Rows, left: Span, right: Span): Span {
  const from = right.to
  const to = from + lengthOf(left) + lengthOf(right)
  growRows(rows, to)
  const { timeMs, user, mask } = rows
  let a = left.from
  let b = right.from
  let at = from
  while (a < left.to && b < right.to) {
    const isB = (timeMs[b]! - timeMs[a]!) >>> 31
    const row = a + (-isB & (b - a))
    timeMs[at] = timeMs[row]!
    user[at] = user[row]!
    mask[at] = mask[row]!
    at++
    a += 1 - isB
    b += isB
  }
  const restFrom = a < left.to ? a : b
  const restTo = a < left.to ? left.to : right.to
  for (let row = restFrom; row < restTo; row++, at++) {
    timeMs[at] = timeMs[row]!
    user[at] = user[row]!
    mask[at] = mask[row]!
  }
  return { from, to }
}

function lengthOf({ from, to }: Span): number {
  return to - from
}

function mergeTwo({ timeMs, source }: Rows, left: Span, right: Span, at: number): void {
  let a = left.from
  let b = right.from
  while (a < left.to && b < right.to) {
    // Times are below 2^31. Without a branch, which would be guessed wrong every third time.
    const isB = (timeMs[b]! - timeMs[a]!) >>> 31
    const row = a + (-isB & (b - a))
    timeMs[at] = timeMs[row]!
    source[at] = source[row]!
    at++
    a += 1 - isB
    b += isB
  }
  const rest = a < left.to ? { from: a, to: left.to } : { from: b, to: right.to }
  timeMs.copyWithin(at, rest.from, rest.to)
  source.copyWithin(at, rest.from, rest.to)
}

/** Copies the other columns of a span's rows from where its rows came from. */
function gather({ user, mask, source }: Rows, { from, to }: Span): void {
  for (let row = from; row < to; row++) {
    const origin = source[row]!
    user[row] = user[origin]!
    mask[row] = mask[origin]!
  }
}

function grown(column: Uint32Array, size: number): Uint32Array {
  const larger = new Uint32Array(size)
  larger.set(column)
  return larger
}
