import { expect, test } from 'vitest'
import { PLAIN, type FunnelSpec } from '../../../src/analysis/funnel-spec.ts'
import { declareFunnel } from '../../../src/analysis/funnel.ts'
import { emptyTally, type FunnelCounts } from '../../../src/analysis/tally.ts'
import type { AppError } from '../../../src/error.ts'
import { mergeBounded } from '../../../src/query/merge-bounded.ts'

const step = { matchers: [{ eventName: 'a', where: [] }], isOptional: false, firstTime: null }
const spec: FunnelSpec = {
  ...PLAIN,
  steps: Array.from({ length: 31 }, () => step),
  ...{ windowMs: 1, entryStartMs: 0, entryEndMs: 1, lastEndMs: 1 },
  breakdown: { property: 'k', attribution: 'first', step: 0, limit: 25 },
}

const countsOf = (valueCount: number, areTimesAsked: boolean): FunnelCounts => {
  const tally = emptyTally(31, areTimesAsked)
  const breakdown = new Map(Array.from({ length: valueCount }, (_, value) => [`${value}`, tally]))
  return { ...tally, trend: null, breakdown }
}

test.each([
  ['counts', false, 125_000],
  ['times', true, 15_625],
])('a breakdown has as many values as memory holds %s of, and is refused with more', (...row) => {
  const [, timeToConvert, valuesMax] = row
  const funnel = declareFunnel({ ...spec, timeToConvert })
  const most = countsOf(valuesMax, timeToConvert)
  expect(mergeBounded(funnel, funnel.empty(), most).breakdown?.size).toBe(valuesMax)
  expect(() => mergeBounded(funnel, most, countsOf(valuesMax + 1, timeToConvert))).toThrow(
    expect.objectContaining({
      code: 'QUERY_TOO_LARGE',
      message: expect.stringContaining(`more than ${valuesMax} values`) as string,
    }) as AppError,
  )
})
