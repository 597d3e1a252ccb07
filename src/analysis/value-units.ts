import type { FunnelSpec } from './funnel-spec.ts'
import { cutMoments, openMoments, openUnitEvents, type UnitEvents } from './moments.ts'
import { openNextMoment } from './next-moment.ts'
import { ALL_STEPS } from './step-bits.ts'

/** Takes the events of a value, which are valid until it returns. */
export type TakeValue = (code: number, events: UnitEvents, to: number) => void

/**
 * Cuts a unit into those of its values, in the order of their first events: step events that hold the value, and what
 * matters of all others, which may break a chain but are not of it. Between two moments with steps that is no more
 * than the first event of each exclusion, and in strict order the first of any: later ones break what is broken.
 * So all values together cost little more than the unit: linear in its events, times the exclusions.
 */
export function openValueUnits({ order, exclude }: FunnelSpec) {
  const isStrict = order === 'strict'
  const areOthersAsked = isStrict || exclude.length > 0
  const moments = openMoments()
  const nextExcluded = openNextMoment()
  const numbers = new Map<number, number>()
  const own = openUnitEvents(0)
  let rows = new Int32Array(0)
  let momentOf = new Int32Array(0)
  let end = 0

  /** Puts the rows with steps in the order of their values. Returns by number where each value's rows end. */
  function groupRows({ mask, code }: UnitEvents, from: number, to: number): number[] {
    numbers.clear()
    const counts: number[] = []
    for (let row = from; row < to; row++) {
      if (mask[row] === 0) continue
      const number = numbers.get(code[row]!) ?? numbers.size
      numbers.set(code[row]!, number)
      counts[number] = (counts[number] ?? 0) + 1
    }
    let sum = 0
    const ends = counts.map((count) => (sum += count))
    const at = ends.map((valueEnd, number) => valueEnd - counts[number]!)
    for (let row = from; row < to; row++)
      if (mask[row] !== 0) rows[at[numbers.get(code[row]!)!]!++] = row
    return ends
  }

  function push(timeMs: number, mask: number, excluded: number, code: number): void {
    if (own.timeMs.length === end) growColumns(own)
    own.timeMs[end] = timeMs
    own.mask[end] = mask
    own.excluded[end] = excluded
    own.code[end++] = code
  }

  const pushOthers = (at: number) => push(moments.timeMs[at]!, 0, moments.excluded[at]!, 0)

  /** Adds what matters between two moments, the ends excluded. */
  function pushBetween(first: number, last: number): void {
    if (first + 1 >= last) return
    let unmet = ALL_STEPS
    if (isStrict) {
      pushOthers(first + 1)
      unmet &= ~moments.excluded[first + 1]!
    }
    for (
      let at = nextExcluded.from(first + 1, unmet);
      at < last;
      at = nextExcluded.from(at + 1, unmet)
    ) {
      pushOthers(at)
      unmet &= ~moments.excluded[at]!
    }
  }

  function pushRow(events: UnitEvents, row: number): void {
    push(events.timeMs[row]!, events.mask[row]!, events.excluded[row]!, events.code[row]!)
  }

  /** Fills `own` with the unit of a value, whose rows are `first` to `last` - 1 of `rows`. */
  function gather(events: UnitEvents, from: number, first: number, last: number): void {
    end = 0
    if (!areOthersAsked) {
      for (let index = first; index < last; index++) pushRow(events, rows[index]!)
      return
    }
    for (let index = first; index < last;) {
      const moment = momentOf[rows[index]! - from]!
      const begin = index
      for (; index < last && momentOf[rows[index]! - from] === moment; index++) {
        pushRow(events, rows[index]!)
      }
      if (index - begin < moments.from[moment + 1]! - moments.from[moment]!) pushOthers(moment)
      pushBetween(moment, index < last ? momentOf[rows[index]! - from]! : moments.count)
    }
  }

  function noteMoments(events: UnitEvents, from: number, to: number): void {
    cutMoments(moments, events, from, to)
    nextExcluded.fill(moments.excluded, moments.count)
    for (let at = 0; at < moments.count; at++)
      momentOf.fill(at, moments.from[at]! - from, moments.from[at + 1]! - from)
  }

  return (events: UnitEvents, from: number, to: number, take: TakeValue): void => {
    if (rows.length < to - from) {
      rows = new Int32Array(2 * (to - from))
      momentOf = new Int32Array(2 * (to - from))
    }
    if (areOthersAsked) noteMoments(events, from, to)
    let first = 0
    for (const last of groupRows(events, from, to)) {
      const code = events.code[rows[first]!]!
      gather(events, from, first, last)
      take(code, own, end)
      first = last
    }
  }
}

function growColumns(columns: ReturnType<typeof openUnitEvents>): void {
  const larger = openUnitEvents(2 * columns.timeMs.length + 16)
  larger.timeMs.set(columns.timeMs)
  larger.mask.set(columns.mask)
  larger.excluded.set(columns.excluded)
  larger.code.set(columns.code)
  Object.assign(columns, larger)
}
