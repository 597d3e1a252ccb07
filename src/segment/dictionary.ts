import { deflateRawSync } from 'node:zlib'
import type { CodedColumn, Value } from './columns.ts'
import { inflated } from './directory.ts'

/** Gathers the values of a column, row by row; a row that is not set is missing. */
export function openDictionary() {
  const values: (Value | null)[] = [null]
  const codeOf = new Map<Value | null, number>([[null, 0]])
  return {
    values,
    codeOf(value: Value | null): number {
      let code = codeOf.get(value)
      if (code === undefined) {
        codeOf.set(value, (code = values.length))
        values.push(value)
      }
      return code
    },
  }
}

/** Returns the bytes of a dictionary. JSON keeps every value but the infinities, which become ["+"], ["-"]. */
export function encodeValues(values: readonly (Value | null)[]): Buffer {
  const written = values.map((value) =>
    typeof value === 'number' && !Number.isFinite(value) ? [value > 0 ? '+' : '-'] : value,
  )
  return deflateRawSync(JSON.stringify(written), { level: 1 })
}

export function decodeValues(bytes: Uint8Array): (Value | null)[] {
  const written = JSON.parse(inflated(bytes).toString('utf8')) as (Value | null | string[])[]
  return written.map((value) =>
    Array.isArray(value) ? (value[0] === '+' ? Infinity : -Infinity) : value,
  )
}

/** How many bytes a code takes in a column of so many values: 1, 2 or 4. */
export function codeBytesFor(valueCount: number): 1 | 2 | 4 {
  if (valueCount <= 256) return 1
  return valueCount <= 65_536 ? 2 : 4
}

/** Views bytes as codes of the given width. The bytes must begin at a multiple of it. */
export function codesView(bytes: Uint8Array, codeBytes: number): CodedColumn['codes'] {
  const { buffer, byteOffset, byteLength } = bytes
  if (codeBytes === 1) return bytes
  if (codeBytes === 2) return new Uint16Array(buffer, byteOffset, byteLength / 2)
  return new Uint32Array(buffer, byteOffset, byteLength / 4)
}
