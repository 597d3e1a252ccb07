import assert from 'node:assert'
import { compareTexts } from './condition.ts'
import { momentRows } from './moment-rows.ts'
import type { Moments } from './moments.ts'
import { lowestStep } from './step-bits.ts'
import { canMatch, loadTieSet, openTieSet } from './tie-set.ts'

export type TieValues = ReturnType<typeof openTieValues>

/**
 * Chooses events of one moment for steps: for each step in turn the smallest value, a missing one last, with which the
 * other steps can still have an event of their own. Only the steps of the mask `asked` have a say, so nobody needs to
 * know the values of the others. `texts` are by code.
 */
export function openTieValues(
  texts: readonly (string | null)[],
  { stepCount, asked }: { readonly stepCount: number; readonly asked: number },
) {
  const tieSet = openTieSet(stepCount)

  const comesFirst = (a: number, b: number): number => {
    if (a === b) return 0
    if (a === 0 || b === 0) return a === 0 ? 1 : -1
    return compareTexts(texts[a]!, texts[b]!)
  }

  return {
    comesFirst,

    /** Writes by step, for those asked, the codes of the events that are chosen. The steps can be matched. */
    write(moments: Moments, at: number, steps: number, code: Uint32Array): void {
      const { events, from } = moments
      if (from[at + 1]! - from[at]! === 1) {
        code[lowestStep(steps)] = events.code[from[at]!]!
        return
      }
      const rows = momentRows(moments, at, steps, comesFirst)
      const codes = rows.map((row) => events.code[row]!)
      const all = Int32Array.from(rows.keys())
      let masks = Uint32Array.from(rows, (row) => events.mask[row]! & steps)
      for (let rest = steps & asked; rest !== 0; rest &= rest - 1) {
        const bit = rest & -rest
        const values = new Set(codes.filter((_, index) => (masks[index]! & bit) !== 0))
        const chosen = [...values].find((value) => {
          const left = masks.map((mask, other) => (codes[other] === value ? mask : mask & ~bit))
          loadTieSet(tieSet, left, all, { from: 0, to: rows.length })
          const isPossible = canMatch(tieSet, steps)
          if (isPossible) masks = left
          return isPossible
        })
        assert(chosen !== undefined)
        code[lowestStep(rest)] = chosen
      }
    },
  }
}
