import type { CodedColumn } from './columns.ts'
import { FOLD_GROUP_USERS, placeOf, userNumberAt } from './place.ts'

/** Rows of a section, placed for some count of read groups. */
export interface PlacedRows {
  readonly timeMs: Uint32Array
  readonly user: Uint16Array
  readonly codes: readonly CodedColumn['codes'][]
  /** Quadruples: read group, fold group, first row, row after the last. Rows of one are in time order. */
  readonly runs: readonly number[]
}

/** What `replaceRows` fills: columns of the same length and widths. */
export type RowsTarget = Omit<PlacedRows, 'runs'>

/**
 * Places rows anew, for fewer read groups than they were written for; returns the new runs. A run is split
 * among the fold groups that its users now belong to, so that one of these may get several runs.
 */
export function replaceRows(
  rows: PlacedRows,
  { from, to }: { readonly from: number; readonly to: number },
  target: RowsTarget,
): number[] {
  const runs: number[] = []
  let end = 0
  for (let at = 0; at < rows.runs.length; at += 4) {
    const [readGroup, foldGroup, first, last] = rows.runs.slice(at, at + 4) as [
      number,
      number,
      number,
      number,
    ]
    const byGroup = new Map<number, number[]>()
    const places = new Map<number, number>()
    for (let row = first; row < last; row++) {
      const position = rows.user[row]!
      const place = placeOf(userNumberAt({ readGroup, foldGroup, position }, from), to)
      const key = place.readGroup * FOLD_GROUP_USERS + place.foldGroup
      const group = byGroup.get(key)
      if (group === undefined) byGroup.set(key, [row])
      else group.push(row)
      places.set(row, place.position)
    }
    for (const [key, group] of byGroup) {
      runs.push(Math.floor(key / FOLD_GROUP_USERS), key % FOLD_GROUP_USERS, end, end + group.length)
      for (const row of group) {
        target.timeMs[end] = rows.timeMs[row]!
        target.user[end] = places.get(row)!
        for (const [index, codes] of rows.codes.entries()) target.codes[index]![end] = codes[row]!
        end++
      }
    }
  }
  return runs
}
