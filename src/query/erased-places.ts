import { placeOf } from '../segment/place.ts'
import type { LoadedSection } from './load-sections.ts'

/** Where users who are erased are, by read group: pairs of fold group and position. */
export type ErasedPlaces = ReadonlyMap<number, readonly number[]>

export function erasedPlaces(userNumbers: readonly number[], readGroupCount: number): ErasedPlaces {
  const places = new Map<number, number[]>()
  for (const userNumber of userNumbers) {
    const { readGroup, foldGroup, position } = placeOf(userNumber, readGroupCount)
    const ofGroup = places.get(readGroup)
    if (ofGroup === undefined) places.set(readGroup, [foldGroup, position])
    else ofGroup.push(foldGroup, position)
  }
  return places
}

/**
 * Returns which rows of a section are of users who are erased. Triples: first row, row after the last, position
 * among these rows.
 */
export function erasedRows(
  { runs, readGroupCount }: LoadedSection,
  userNumbers: readonly number[],
): number[] {
  const places = erasedPlaces(userNumbers, readGroupCount)
  const rows: number[] = []
  for (let at = 0; at < runs.length; at += 4) {
    const erased = places.get(runs[at]!) ?? []
    for (let place = 0; place < erased.length; place += 2)
      if (erased[place] === runs[at + 1])
        rows.push(runs[at + 2]!, runs[at + 3]!, erased[place + 1]!)
  }
  return rows
}
