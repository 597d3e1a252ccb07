import type { Value } from '../segment/columns.ts'
import { textOf } from './condition.ts'
import type { Span } from './merge-runs.ts'

/**
 * The texts of values met so far, numbered in the order in which they were met. 0 is a missing value, the
 * only one whose text is null. Values that read alike have one code.
 */
export interface TextCodes {
  readonly texts: readonly (string | null)[]
  /** Turns codes of the dictionary `values` into those of the texts, in place. */
  readonly recode: (values: readonly (Value | null)[], codes: Uint32Array, span: Span) => void
}

const UNKNOWN = -1

/** A value is turned into text once per dictionary (the same array), and only if a row has it. */
export function openTextCodes(): TextCodes {
  const texts: (string | null)[] = [null]
  const codeOfText = new Map<string, number>()
  const tables = new WeakMap<readonly (Value | null)[], Int32Array>()

  function codeOf(value: Value | null): number {
    if (value === null) return 0
    const text = textOf(value)
    let code = codeOfText.get(text)
    if (code === undefined) {
      codeOfText.set(text, (code = texts.length))
      texts.push(text)
    }
    return code
  }

  return {
    texts,
    recode(values, codes, { from, to }) {
      let table = tables.get(values)
      if (table === undefined)
        tables.set(values, (table = new Int32Array(values.length).fill(UNKNOWN)))
      for (let row = from; row < to; row++) {
        const own = codes[row]!
        if (table[own] === UNKNOWN) table[own] = codeOf(values[own]!)
        codes[row] = table[own]!
      }
    },
  }
}
