import type { CodedColumn } from '../segment/columns.ts'
import { codesView } from '../segment/dictionary.ts'
import { placeByValue } from '../segment/place-by-value.ts'
import type { PlaceTask, Replaced } from './worker-messages.ts'

/** Does what a `PlaceTask` asks, into new shared memory. */
export function placeSection({ section, property, table, kept }: PlaceTask): Replaced {
  const counted = section.properties.find(({ path }) => path === property)!
  const cellsOf = ({ codes, codeBytes }: typeof counted) =>
    codesView(new Uint8Array(codes), codeBytes)
  const timeMs = new Uint32Array(section.timeMs)
  const { order, position, runs } = placeByValue(timeMs, cellsOf(counted), new Uint32Array(table))
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

function copyInOrder(cells: Cells, order: Uint32Array, target: Cells): void {
  for (let at = 0; at < order.length; at++) target[at] = cells[order[at]!]!
}
