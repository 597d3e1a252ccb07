import assert from 'node:assert'
import { compareTexts } from './condition.ts'
import { momentRows } from './moment-rows.ts'
import type { Moments } from './moments.ts'
import { bitOf, lowestStep } from './step-bits.ts'

export type TieValues = ReturnType<typeof openTieValues>

/**
 * Chooses events of one moment for steps: for each step in turn the smallest value, a missing one last, with which the
 * other steps can still have an event of their own.
 */
export function openTieValues(texts: readonly (string | null)[]) {
  const comesFirst = (a: number, b: number): number => {
    if (a === b) return 0
    if (a === 0 || b === 0) return a === 0 ? 1 : -1
    return compareTexts(texts[a]!, texts[b]!)
  }

  return {
    comesFirst,

    /** Writes by step the codes of the events that are chosen. The steps of the mask can be matched. */
    write(moments: Moments, at: number, steps: number, code: Uint32Array): void {
      const { events, from } = moments
      if (from[at + 1]! - from[at]! === 1) {
        code[lowestStep(steps)] = events.code[from[at]!]!
        return
      }
      const rows = momentRows(moments, at, steps, comesFirst)
      const chosen = new Map<number, number>()
      const canBe = (step: number, row: number): boolean =>
        (events.mask[row]! & bitOf(step)) !== 0 &&
        (chosen.get(step) ?? events.code[row]) === events.code[row]
      for (let rest = steps; rest !== 0; rest &= rest - 1) {
        const step = lowestStep(rest)
        const first = rows.find((row) => {
          if (!canBe(step, row)) return false
          chosen.set(step, events.code[row]!)
          const isPossible = areMatchable(rows, steps, canBe)
          if (!isPossible) chosen.delete(step)
          return isPossible
        })
        assert(first !== undefined)
        code[step] = events.code[first]!
      }
    },
  }
}

/** Whether the steps of a mask can be given to distinct rows: by augmenting paths (Kuhn 1955). */
function areMatchable(
  rows: readonly number[],
  steps: number,
  canBe: (step: number, row: number) => boolean,
): boolean {
  const stepOf = new Map<number, number>()
  const augment = (step: number, seen: Set<number>): boolean =>
    rows.some((row) => {
      if (!canBe(step, row) || seen.has(row)) return false
      seen.add(row)
      const held = stepOf.get(row)
      if (held !== undefined && !augment(held, seen)) return false
      stepOf.set(row, step)
      return true
    })
  for (let rest = steps; rest !== 0; rest &= rest - 1)
    if (!augment(lowestStep(rest), new Set())) return false
  return true
}
