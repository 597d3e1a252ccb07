import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  canMatch as canGive,
  firstSteps,
  loadTieSet,
  openTieSet,
} from '../../src/analysis/tie-set.ts'

const STEP_COUNT = 6

const masks = fc.array(fc.nat(2 ** STEP_COUNT - 1), { minLength: 1, maxLength: 8, size: 'max' })

test('the first steps are those from which a one-to-one matching exists', () => {
  fc.assert(
    fc.property(masks, (set) => {
      const fast = firstSteps(load(set), STEP_COUNT)
      const slow = Array.from({ length: STEP_COUNT }, (_, last) => {
        let first = 0
        while (first <= last && !canMatch(set, first, last)) first++
        return first
      })
      expect([...fast]).toEqual(slow)
    }),
    { numRuns: 10_000 },
  )
})

test('steps can be given to distinct events, or they cannot', () => {
  fc.assert(
    fc.property(masks, fc.nat(STEP_COUNT - 1), fc.nat(STEP_COUNT - 1), (set, first, last) => {
      const steps = 2 ** (last + 1) - 1 - (2 ** Math.min(first, last + 1) - 1)
      expect(canGive(load(set), steps)).toBe(canMatch(set, first, last))
    }),
    { numRuns: 10_000 },
  )
})

function load(set: number[]) {
  const tieSet = openTieSet(STEP_COUNT)
  loadTieSet(tieSet, Uint32Array.from(set), Int32Array.from(set.keys()), {
    ...{ from: 0, to: set.length },
  })
  return tieSet
}

/** Every way to give the steps first to last to distinct events is tried. */
function canMatch(set: readonly number[], first: number, last: number): boolean {
  if (first > last) return true
  return set.some(
    (mask, index) =>
      (mask & (1 << first)) !== 0 &&
      canMatch(
        set.filter((_, other) => other !== index),
        first + 1,
        last,
      ),
  )
}
