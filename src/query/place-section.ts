import type { CodedColumn } from '../segment/columns.ts'
import { codesView } from '../segment/dictionary.ts'
import { placeByValue } from '../segment/place-by-value.ts'
import type { PlaceTask, Replaced } from './worker-messages.ts'

/** Does what a `PlaceTask` asks, into new shared memory. */
export function placeSection({ section, property, table, kept, erased }: PlaceTask): Replaced {
  const counted = section.properties.find(({ path }) => path === property)!
  const cellsOf = ({ codes, codeBytes }: typeof counted) =>
    codesView(new Uint8Array(codes), codeBytes)
  const timeMs = new Uint32Array(section.timeMs)
  const codes = withoutRows(cellsOf(counted), new Uint16Array(section.user), erased)
  const { order, position, runs } = placeByValue(timeMs, codes, new Uint32Array(table))
  const user = new SharedArrayBuffer(position.byteLength)
  new Uint16Array(user).set(position)
  const times = new SharedArrayBuffer(4 * order.length)
  copyInOrder(timeMs, order, new Uint32Array(times))
  return {
    section: {
      ...section,
      ...{ rowCount: order.length, timeMs: times, user },
      properties: section.properties
        .filter(({ path }) => kept.includes(path))
        .map((one) => {
          const codes = new SharedArrayBuffer(one.codeBytes * order.length)
          copyInOrder(cellsOf(one), order, cellsOf({ ...one, codes }))
          return { ...one, codes }
        }),
    },
    runs,
  }
}

type Cells = CodedColumn['codes']

/** Returns codes that are 0, which stands for no value, at the rows of users who are erased. */
function withoutRows(codes: Cells, user: Uint16Array, erased: PlaceTask['erased']): Cells {
  if (erased.length === 0) return codes
  const kept = codes.slice()
  for (let at = 0; at < erased.length; at += 3)
    for (let row = erased[at]!; row < erased[at + 1]!; row++)
      if (user[row] === erased[at + 2]) kept[row] = 0
  return kept
}

function copyInOrder(cells: Cells, order: Uint32Array, target: Cells): void {
  for (let at = 0; at < order.length; at++) target[at] = cells[order[at]!]!
}
