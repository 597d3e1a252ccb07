import type { DayRuns, Run } from '../segment/columns.ts'
import { SESSION_ID_PATH } from '../segment/columns.ts'
import { DAY_MS } from './day-rows.ts'
import { needsEveryEvent, type FunnelSpec } from './funnel-spec.ts'
import { compileSteps, copyCells, writeMasks, type RunMask } from './step-mask.ts'
import { openTextCodes, type TextCodes } from './text-codes.ts'

/** Rows that are sorted at once: about 40 bytes each. More are looked at in slices of users. */
const ROWS_MAX = 4_000_000

/**
 * Events user by user, each user's in time order. Columns that the question does not need are as good as 0. Used
 * again for the next users.
 */
export interface UserRows {
  timeMs: Float64Array
  /** Bit k: the event satisfies step k, whether or not it is the first ever. */
  mask: Uint32Array
  /** Bit x: the event is what exclusion x excludes. */
  excluded: Uint32Array
  /** Bit k: of such an event the first ever is asked for by step k. */
  first: Uint32Array
  /** Codes: of the breakdown's value, of the session id, of all values that are held. 0: missing. */
  code: Uint32Array
  session: Uint32Array
  hold: Uint32Array
}

/** Takes a user's rows; returns whether others are wanted. */
type TakeUser = (user: number, rows: UserRows, from: number, to: number) => boolean

/** A run's rows within reach, on their way. The columns are used again for the next run. */
interface RunRows {
  readonly startMs: number
  readonly rowCount: number
  readonly timeMs: Uint32Array
  readonly user: Uint32Array
  readonly columns: Omit<UserRows, 'timeMs'>
}

/**
 * Sorts a fold group's events by their users, for questions that look at chains one by one. Linear in the rows, but
 * for the time order within a user; takes memory for ROWS_MAX of them, or for those of one user.
 */
export function openUserRows(spec: FunnelSpec, texts: TextCodes) {
  const asked = askedOf(spec)
  const readRun = openRunReader(spec, texts, asked)
  const rows = grow(null, 1_024)
  const isAny = spec.order === 'any'
  let counts = new Uint32Array(0)
  let ends = new Uint32Array(0)
  let hasEntry = new Uint8Array(0)

  function countRows(days: readonly DayRuns[], userCount: number): void {
    if (counts.length < userCount) {
      counts = new Uint32Array(userCount)
      ends = new Uint32Array(userCount)
      hasEntry = new Uint8Array(userCount)
    }
    counts.fill(0)
    hasEntry.fill(0)
    for (const { day, runs } of days)
      for (const run of runs) {
        const { user, columns, rowCount, timeMs, startMs } = readRun(run, day)
        const { mask } = columns
        for (let row = 0; row < rowCount; row++) {
          counts[user[row]!]!++
          const atMs = startMs + timeMs[row]!
          const isEntry = isAny ? mask[row] !== 0 : (mask[row]! & 1) === 1
          if (isEntry && atMs >= spec.entryStartMs && atMs < spec.entryEndMs)
            hasEntry[user[row]!] = 1
        }
      }
  }

  /** Puts the rows of the users `first` to `last` - 1 where they belong. */
  function scatter(days: readonly DayRuns[], first: number, last: number): void {
    for (const { day, runs } of days)
      for (const run of runs) {
        const { user, columns, rowCount, timeMs, startMs } = readRun(run, day)
        for (let row = 0; row < rowCount; row++) {
          const owner = user[row]!
          if (owner < first || owner >= last || hasEntry[owner] === 0) continue
          const at = ends[owner]!++
          rows.timeMs[at] = startMs + timeMs[row]!
          rows.mask[at] = columns.mask[row]!
          if (asked.excluded) rows.excluded[at] = columns.excluded[row]!
          if (asked.first) rows.first[at] = columns.first[row]!
          if (asked.code) rows.code[at] = columns.code[row]!
          if (asked.session) rows.session[at] = columns.session[row]!
          if (asked.hold) rows.hold[at] = columns.hold[row]!
        }
      }
  }

  /**
   * Calls `take` for each user who has an entry, ascending; with `flags`, only for those whose flag is 1. Days are in
   * ascending order.
   */
  return (
    days: readonly DayRuns[],
    userCount: number,
    flags: Uint8Array | null,
    take: TakeUser,
  ): void => {
    countRows(days, userCount)
    if (flags !== null) for (let user = 0; user < userCount; user++) hasEntry[user]! &= flags[user]!
    for (let first = 0, last = 0; first < userCount; first = last) {
      let rowCount = 0
      for (; last < userCount; last++) {
        const own = hasEntry[last] === 0 ? 0 : counts[last]!
        if (rowCount > 0 && rowCount + own > ROWS_MAX) break
        ends[last] = rowCount
        rowCount += own
      }
      if (rowCount === 0) continue
      if (rows.timeMs.length < rowCount) grow(rows, rowCount)
      scatter(days, first, last)
      for (let user = first; user < last; user++) {
        if (hasEntry[user] === 0) continue
        const to = ends[user]!
        const from = to - counts[user]!
        sortByTime(rows, from, to)
        if (!take(user, rows, from, to)) return
      }
    }
  }
}

/** Which columns matter; the others stay 0. */
type Asked = Readonly<Record<Exclude<keyof UserRows, 'timeMs' | 'mask'>, boolean>>

function askedOf({ exclude, steps, breakdown, count, hold }: FunnelSpec): Asked {
  return {
    excluded: exclude.length > 0,
    first: steps.some(({ firstTime }) => firstTime !== null),
    code: breakdown !== null,
    session: count === 'sessions',
    hold: hold.length > 0,
  }
}

/** Returns the way from a run to what matters of it: the rows that may be looked at, dense. */
function openRunReader(spec: FunnelSpec, texts: TextCodes, asked: Asked) {
  const { steps, exclude, breakdown, hold, entryStartMs, lastEndMs } = spec
  const stepsOf = compileSteps(steps)
  const excludedOf = exclude.length === 0 ? null : compileSteps(exclude)
  const firstOf = openFirst(spec)
  const isEveryNeeded = needsEveryEvent(spec)
  const sessions = spec.count === 'sessions' ? openTextCodes() : null
  const holds = openHolds(hold)
  const columns = grow(null, 1_024)
  let timeMs = new Uint32Array(0)
  let user = new Uint32Array(0)
  let scratch = new Uint32Array(0)

  function writeAll(mask: RunMask | null, run: Run, target: Uint32Array): void {
    if (mask === null || mask.possible === 0) target.fill(0, 0, run.rowCount)
    else writeMasks(mask, { from: 0, to: run.rowCount }, target, 0, scratch)
  }

  function writeCodes(run: Run, path: string, codes: TextCodes, target: Uint32Array): void {
    const column = run.properties.get(path)
    if (column === undefined) {
      target.fill(0, 0, run.rowCount)
      return
    }
    copyCells(column.codes, 0, run.rowCount, target, 0)
    codes.recode(column.values, target, { from: 0, to: run.rowCount })
  }

  /** Drops rows that nothing is asked of; returns how many are left. */
  function keep(run: Run, startMs: number): number {
    const { mask, excluded, first, code, session, hold: held } = columns
    let end = 0
    for (let row = 0; row < run.rowCount; row++) {
      const atMs = startMs + timeMs[row]!
      if (atMs >= lastEndMs) break
      const isBefore = atMs < entryStartMs
      const isNeeded =
        first[row] !== 0 || (!isBefore && (isEveryNeeded || (mask[row]! | excluded[row]!) !== 0))
      timeMs[end] = timeMs[row]!
      user[end] = user[row]!
      mask[end] = mask[row]!
      if (asked.excluded) excluded[end] = excluded[row]!
      if (asked.first) first[end] = first[row]!
      if (asked.code) code[end] = code[row]!
      if (asked.session) session[end] = session[row]!
      if (asked.hold) held[end] = held[row]!
      end += Number(isNeeded)
    }
    return end
  }

  /** Whether nothing of a run is to be dropped, as is most often so. */
  function isWhole({ rowCount, timeMs: times }: Run, startMs: number, mask: RunMask): boolean {
    const isNeeded = isEveryNeeded || mask.plain !== 0
    const isWithin =
      startMs + times[0]! >= entryStartMs && startMs + times[rowCount - 1]! < lastEndMs
    return isNeeded && isWithin
  }

  return (run: Run, day: number): RunRows => {
    const startMs = day * DAY_MS
    const [mask, excluded] = [stepsOf(run), excludedOf === null ? null : excludedOf(run)]
    const first = firstOf === null ? null : firstOf.namesOf(run)
    const isAnything = mask.possible | (excluded?.possible ?? 0) | (first?.possible ?? 0)
    if (run.rowCount === 0 || (isAnything === 0 && !isEveryNeeded))
      return { startMs, rowCount: 0, timeMs, user, columns }
    if (timeMs.length < run.rowCount) {
      grow(columns, run.rowCount)
      const size = columns.mask.length
      timeMs = new Uint32Array(size)
      user = new Uint32Array(size)
      scratch = new Uint32Array(size)
    }
    copyCells(run.timeMs, 0, run.rowCount, timeMs, 0)
    copyCells(run.user, 0, run.rowCount, user, 0)
    writeAll(mask, run, columns.mask)
    if (excluded !== null) writeAll(excluded, run, columns.excluded)
    if (firstOf !== null) {
      writeAll(first, run, columns.first)
      for (let row = 0; row < run.rowCount; row++)
        columns.first[row]! |= columns.mask[row]! & firstOf.matching
    }
    if (breakdown !== null) writeCodes(run, breakdown.property, texts, columns.code)
    if (sessions !== null) writeCodes(run, SESSION_ID_PATH, sessions, columns.session)
    holds?.write(run, columns.hold, (path, codes) => {
      writeCodes(run, path, codes, scratch)
      return scratch
    })
    const rowCount = isWhole(run, startMs, mask) ? run.rowCount : keep(run, startMs)
    return { startMs, rowCount, timeMs, user, columns }
  }
}

/** For steps that ask for the first ever: which events are looked for. */
function openFirst({ steps }: FunnelSpec) {
  if (steps.every(({ firstTime }) => firstTime === null)) return null
  const namesOf = compileSteps(
    steps.map(({ firstTime, matchers }) => ({
      matchers:
        firstTime === 'event' ? matchers.map(({ eventName }) => ({ eventName, where: [] })) : [],
    })),
  )
  const matching = steps.reduce(
    (bits, { firstTime }, step) => bits | (firstTime === 'matching' ? 1 << step : 0),
    0,
  )
  return { namesOf, matching }
}

/** Numbers the combinations of values that properties have; 0 where one is missing. */
function openHolds(paths: readonly string[]) {
  if (paths.length === 0) return null
  const texts = paths.map(openTextCodes)
  const numbers = new Map<number, Map<number, number>>()
  let pairCount = 0
  const numberOf = (before: number, code: number): number => {
    if (before === 0 || code === 0) return 0
    let following = numbers.get(before)
    if (following === undefined) numbers.set(before, (following = new Map()))
    let number = following.get(code)
    if (number === undefined) following.set(code, (number = ++pairCount))
    return number
  }
  return {
    write(
      { rowCount }: Run,
      target: Uint32Array,
      read: (path: string, codes: TextCodes) => Uint32Array,
    ): void {
      paths.forEach((path, index) => {
        const codes = read(path, texts[index]!)
        if (index === 0) target.set(codes.subarray(0, rowCount))
        else
          for (let row = 0; row < rowCount; row++) target[row] = numberOf(target[row]!, codes[row]!)
      })
    },
  }
}

function grow(rows: UserRows | null, rowCount: number): UserRows {
  const size = rowCount + (rowCount >>> 2)
  const column = () => new Uint32Array(size)
  const grown = {
    timeMs: new Float64Array(size),
    ...{ mask: column(), excluded: column(), first: column() },
    ...{ code: column(), session: column(), hold: column() },
  }
  return rows === null ? grown : Object.assign(rows, grown)
}

/** Up to so many rows are moved one by one. */
const INSERTED_ROWS_MAX = 32

/** Puts rows in time order; those of one time stay as they are. */
function sortByTime(rows: UserRows, from: number, to: number): void {
  const { timeMs } = rows
  let row = from + 1
  while (row < to && timeMs[row - 1]! <= timeMs[row]!) row++
  if (row >= to) return
  const columns = Object.values(rows) as (Float64Array | Uint32Array)[]
  if (to - from > INSERTED_ROWS_MAX) {
    const order = Array.from({ length: to - from }, (_, index) => from + index)
    order.sort((a, b) => timeMs[a]! - timeMs[b]!)
    for (const column of columns) {
      const copy = column.slice(from, to)
      for (let index = 0; index < order.length; index++)
        column[from + index] = copy[order[index]! - from]!
    }
    return
  }
  for (; row < to; row++) {
    let at = row
    while (at > from && timeMs[at - 1]! > timeMs[row]!) at--
    if (at === row) continue
    for (const column of columns) {
      const moved = column[row]!
      column.copyWithin(at + 1, at, row)
      column[at] = moved
    }
  }
}
