import { codesView } from '../segment/dictionary.ts'
import { replaceRows } from '../segment/replace.ts'
import type { Replaced, ReplaceTask } from './worker-messages.ts'

/** Does what a `ReplaceTask` asks, into new shared memory. */
export function replaceSection({ section, runs, from, to }: ReplaceTask): Replaced {
  const { timeMs, user, properties } = section
  const target = {
    timeMs: new SharedArrayBuffer(timeMs.byteLength),
    user: new SharedArrayBuffer(user.byteLength),
    codes: properties.map(({ codes }) => new SharedArrayBuffer(codes.byteLength)),
  }
  const view = (codes: SharedArrayBuffer, index: number) =>
    codesView(new Uint8Array(codes), properties[index]!.codeBytes)
  const placed = replaceRows(
    {
      timeMs: new Uint32Array(timeMs),
      user: new Uint16Array(user),
      codes: properties.map(({ codes }, index) => view(codes, index)),
      runs,
    },
    { from, to },
    {
      timeMs: new Uint32Array(target.timeMs),
      user: new Uint16Array(target.user),
      codes: target.codes.map(view),
    },
  )
  return {
    section: {
      ...section,
      ...{ timeMs: target.timeMs, user: target.user },
      properties: properties.map((property, index) => ({
        ...property,
        codes: target.codes[index]!,
      })),
    },
    runs: placed,
  }
}
