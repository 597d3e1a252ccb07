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
  const unit = openColumns(0)

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

  /** Returns, by row from `from` on, the number of its unit; -1 for none. */
  function unitsOf(rows: UserRows, from: number, to: number): { units: Int32Array; count: number } {
    const units = new Int32Array(to - from).fill(-1)
    const numbers = new Map<string, number>()
    let silentSession = 0
    let lastMs = -Infinity
    for (let row = from; row < to; row++) {
      let session = ''
      if (count === 'sessions') {
        const timeMs = rows.timeMs[row]!
        if (timeMs < entryStartMs) continue
        const code = rows.session[row]!
        if (code === 0 && timeMs - lastMs > SESSION_SILENCE_MS) silentSession++
        if (code === 0) lastMs = timeMs
        session = code === 0 ? `s${silentSession}` : `${code}`
      }
      if (!isPart(rows, row) || (hold.length > 0 && rows.hold[row] === 0)) continue
      const key = `${session} ${rows.hold[row]!}`
      let number = numbers.get(key)
      if (number === undefined) numbers.set(key, (number = numbers.size))
      units[row - from] = number
    }
    return { units, count: numbers.size }
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
    const { units, count: unitCount } = unitsOf(rows, from, to)
    const ends = new Int32Array(unitCount + 1)
    for (const number of units) if (number >= 0) ends[number + 1]!++
    for (let number = 0; number < unitCount; number++) ends[number + 1]! += ends[number]!
    const next = ends.slice()
    for (let row = from; row < to; row++) {
      const number = units[row - from]!
      if (number >= 0) copy(rows, row, next[number]!++)
    }
    for (let number = 0; number < unitCount; number++) take(unit, ends[number]!, ends[number + 1]!)
  }
}

type Columns = { -readonly [Name in keyof UnitEvents]: UnitEvents[Name] }

function openColumns(rowCount: number): Columns {
  const column = () => new Uint32Array(rowCount)
  return {
    timeMs: new Float64Array(rowCount),
    ...{ mask: column(), excluded: column(), code: column() },
  }
}
