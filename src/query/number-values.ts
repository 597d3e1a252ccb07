import { textOf } from '../analysis/condition.ts'
import { AppError } from '../error.ts'
import { isSampledText } from '../event/bucket.ts'
import { textHash } from '../event/text-hash.ts'
import { decodeValues } from '../segment/dictionary.ts'
import type { Numbered, NumberTask, TextsTask, ValueClass } from './worker-messages.ts'

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
    if (numbers.numberOf.size !== knownCount) throw forgotten()
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
          if (!isOfClass(text, task.valueClass) || !isSampledText(text, task.sample)) continue
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

    /** Returns the texts of numbers. Throws OVERLOADED where they were not numbered here. */
    texts({ numbering, numbers }: TextsTask): string[] {
      const numberOf = numberings.get(numbering)?.numberOf
      if (numberOf === undefined) throw forgotten()
      // In the order in which they were numbered.
      const all = [...numberOf.keys()]
      return Array.from(numbers, (number) => all[number]!)
    },

    forget: (numbering: string) => void numberings.delete(numbering),
  }
}

function forgotten(): AppError {
  return new AppError('OVERLOADED', 'the thread that numbered values ended: ask again')
}

function isOfClass(text: string, { count, index }: ValueClass): boolean {
  return count === 1 || textHash(text) % count === index
}
