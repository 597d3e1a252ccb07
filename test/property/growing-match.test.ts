import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openGrowingMatch } from '../../src/analysis/growing-match.ts'
import { openNextMoment } from '../../src/analysis/next-moment.ts'

const mask = (stepCount: number) => fc.nat(2 ** stepCount - 1)

test('an event is taken exactly if one more step can then have an event of its own', () => {
  const masks = fc
    .integer({ min: 1, max: 6 })
    .chain((stepCount) =>
      fc.tuple(fc.constant(stepCount), fc.array(mask(stepCount), { maxLength: 9 })),
    )
  fc.assert(
    fc.property(masks, ([stepCount, events]) => {
      const match = openGrowingMatch(stepCount)
      match.clear()
      const taken: number[] = []
      for (const event of events) {
        const isBetter = slowCount([...taken, event]) > taken.length
        expect(match.add(event)).toBe(isBetter)
        if (isBetter) taken.push(event)
      }
    }),
    { numRuns: 2_000 },
  )
})

test('the next moment with any of some bits is the first of those from there on', () => {
  const cases = fc.record({
    masks: fc.array(mask(4), { maxLength: 20 }),
    from: fc.nat(22),
    bits: mask(4),
  })
  const next = openNextMoment()
  fc.assert(
    fc.property(cases, ({ masks, from, bits }) => {
      next.fill(Uint32Array.from(masks), masks.length)
      const slow = masks.findIndex((own, at) => at >= from && (own & bits) !== 0)
      expect(next.from(from, bits)).toBe(slow === -1 ? masks.length : slow)
    }),
    { numRuns: 2_000 },
  )
})

/** How many events can have a step each: every way is tried. */
function slowCount(events: readonly number[], used = 0): number {
  const [first, ...rest] = events
  if (first === undefined) return 0
  let best = slowCount(rest, used)
  for (let step = 0; step < 6; step++)
    if ((first & ~used & (1 << step)) !== 0)
      best = Math.max(best, 1 + slowCount(rest, used | (1 << step)))
  return best
}
