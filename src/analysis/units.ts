import type { FunnelSpec } from './funnel-spec.ts'
import type { UnitEvents } from './moments.ts'
import { bitOf } from './step-bits.ts'
import type { UserRows } from './user-rows.ts'

/** So long a silence ends a session of events without a session id. */
export const SESSION_SILENCE_MS = 30 * 60_000

export type TakeUnit = (events: UnitEvents, from: number, to: number) => void

/**
 * Cuts a user's events into units that chains do not leave: all of them; or those with the same values held, and
 * those of one session, in the order of their first events. Leaves out what is there for `firstTime` or for the
 * silence between sessions only.
 */
export function openUnits(spec: FunnelSpec) {
  const { entryStartMs, order, hold, count, steps } = spec
  const isFirstAsked = steps.some(({ firstTime }) => firstTime !== null)
  const isWhole = hold.length === 0 && count !== 'sessions'
  const isStrict = order === 'strict'
  const areSessions = count === 'sessions'
  const unit = openColumns(0)
  /** By session and held values, the number of the unit. */
  const numbers = new Map<number, number>()
  let units = new Int32Array(16)
  let ends = new Int32Array(17)
  let next = new Int32Array(17)

  /** Takes the bits of steps that ask for a first event from all later ones. */
  function keepFirst({ timeMs, mask, first }: UserRows, from: number, to: number): void {
    let found = 0
    for (let row = from; row < to;) {
      const atMs = timeMs[row]!
      let here = 0
      for (; row < to && timeMs[row] === atMs; row++) {
        mask[row]! &= ~(found & firstBits)
        here |= first[row]!
      }
      found |= here
    }
  }
  const firstBits = steps.reduce(
    (bits, { firstTime }, step) => bits | (firstTime === null ? 0 : bitOf(step)),
    0,
  )

  const isPart = ({ timeMs, mask, excluded }: UserRows, row: number) =>
    timeMs[row]! >= entryStartMs && (isStrict || (mask[row]! | excluded[row]!) !== 0)

  /** Writes to `units`, by row from `from` on, the number of its unit, -1 for none. Returns how many there are. */
  function numberUnits(rows: UserRows, from: number, to: number): number {
    numbers.clear()
    let silentSession = 0
    let lastMs = -Infinity
    for (let row = from; row < to; row++) {
      units[row - from] = -1
      let session = 0
      if (areSessions) {
        const timeMs = rows.timeMs[row]!
        if (timeMs < entryStartMs) continue
        const code = rows.session[row]!
        if (code === 0 && timeMs - lastMs > SESSION_SILENCE_MS) silentSession++
        if (code === 0) lastMs = timeMs
        session = code === 0 ? 2 * silentSession : 2 * code + 1
      }
      if (!isPart(rows, row) || (hold.length > 0 && rows.hold[row] === 0)) continue
      const key = session * HELD_MAX + rows.hold[row]!
      let number = numbers.get(key)
      if (number === undefined) numbers.set(key, (number = numbers.size))
      units[row - from] = number
    }
    return numbers.size
  }

  function copy(rows: UserRows, row: number, at: number): void {
    unit.timeMs[at] = rows.timeMs[row]!
    unit.mask[at] = rows.mask[row]!
    unit.excluded[at] = rows.excluded[row]!
    unit.code[at] = rows.code[row]!
  }

  /** Calls `take` for each unit. What is in the rows is lost. */
  return (rows: UserRows, from: number, to: number, take: TakeUnit): void => {
    if (isFirstAsked) keepFirst(rows, from, to)
    if (isWhole && !isFirstAsked) {
      take(rows, from, to)
      return
    }
    if (unit.timeMs.length < to - from) Object.assign(unit, openColumns(2 * (to - from)))
    if (isWhole) {
      let end = 0
      for (let row = from; row < to; row++) if (isPart(rows, row)) copy(rows, row, end++)
      take(unit, 0, end)
      return
    }
    if (units.length < to - from) {
      units = new Int32Array(2 * (to - from))
      ends = new Int32Array(2 * (to - from) + 1)
      next = new Int32Array(2 * (to - from) + 1)
    }
    const unitCount = numberUnits(rows, from, to)
    ends.fill(0, 0, unitCount + 1)
    for (let row = from; row < to; row++)
      if (units[row - from] !== -1) ends[units[row - from]! + 1]!++
    next[0] = 0
    for (let number = 1; number <= unitCount; number++)
      next[number] = ends[number]! += ends[number - 1]!
    for (let row = from; row < to; row++)
      if (units[row - from] !== -1) copy(rows, row, next[units[row - from]!]!++)
    for (let number = 0; number < unitCount; number++) take(unit, ends[number]!, ends[number + 1]!)
  }
}

/** Above what combinations of held values are numbered with. */
const HELD_MAX = 2 ** 27

export type Columns = { -readonly [Name in keyof UnitEvents]: UnitEvents[Name] }

export function openColumns(rowCount: number): Columns {
  const column = () => new Uint32Array(rowCount)
  return {
    timeMs: new Float64Array(rowCount),
    ...{ mask: column(), excluded: column(), code: column() },
  }
}
