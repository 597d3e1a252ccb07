import { textOf } from '../analysis/condition.ts'
import { AppError } from '../error.ts'
import { decodeValues } from '../segment/dictionary.ts'
import type { Numbered, NumberTask, ValueClass } from './worker-messages.ts'

/** What a text takes in memory beside its letters. */
const TEXT_BYTES = 80

/** The texts of one class that were met so far, with their numbers. */
interface Numbers {
  readonly numberOf: Map<string, number>
  bytes: number
}

/**
 * Numbers the values of a property, those that read alike as one, in the order in which they are met. What was
 * met is kept from call to call, by the numbering's id, until it is forgotten: all of a numbering is done in one
 * thread.
 */
export function openValueNumbers() {
  const numberings = new Map<string, Numbers>()

  function numbersOf({ numbering, knownCount }: NumberTask): Numbers {
    let numbers = numberings.get(numbering)
    if (numbers === undefined)
      numberings.set(numbering, (numbers = { numberOf: new Map(), bytes: 0 }))
    // Another thread than the one that began would give the same numbers to other values.
    if (numbers.numberOf.size !== knownCount)
      throw new AppError('OVERLOADED', 'the thread that numbered values ended: ask again')
    return numbers
  }

  return {
    /** Throws OVERLOADED where what was numbered before is not known here. */
    number(task: NumberTask): Numbered {
      const numbers = numbersOf(task)
      const { numberOf } = numbers
      const tables: SharedArrayBuffer[] = []
      for (const stored of task.dictionaries) {
        // Copied: inflating takes no shared memory.
        const values = decodeValues(Uint8Array.from(new Uint8Array(stored)))
        const table = new SharedArrayBuffer(4 * values.length)
        const cells = new Uint32Array(table)
        for (const [code, value] of values.entries()) {
          if (value === null) continue
          const text = textOf(value)
          if (!isOfClass(text, task.valueClass)) continue
          let number = numberOf.get(text)
          if (number === undefined) {
            numberOf.set(text, (number = numberOf.size))
            numbers.bytes += TEXT_BYTES + text.length
            if (numbers.bytes > task.bytesMax) return { tables: null, knownCount: numberOf.size }
          }
          cells[code] = number + 1
        }
        tables.push(table)
      }
      return { tables, knownCount: numberOf.size }
    },

    forget: (numbering: string) => void numberings.delete(numbering),
  }
}

/** A hash of the text, modulo the count of classes. FNV-1a over UTF-16 units, then mixed as MurmurHash3 does. */
function isOfClass(text: string, { count, index }: ValueClass): boolean {
  if (count === 1) return true
  let hash = 0x811c_9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  return ((hash ^ (hash >>> 13)) >>> 0) % count === index
}
