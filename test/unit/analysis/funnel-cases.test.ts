import { expect, test } from 'vitest'
import { declareFunnel } from '../../../src/analysis/funnel.ts'
import { caseIds, runnableCases, specOf, WAITING } from '../../support/funnel-cases.ts'
import { foldFunnel } from '../../support/fold-funnel.ts'
import { byValue } from '../../support/funnel-oracle.ts'

test.each(runnableCases())('$id is answered as worked out', (worked) => {
  const spec = specOf(worked)
  const { count } = worked.funnel
  const events = typeof count === 'object' ? byValue(worked.events, count.property) : worked.events
  const { steps, breakdown, timeToConvert } = declareFunnel(spec).result(foldFunnel(spec, events))
  expect(steps.map(({ users }) => users)).toEqual(worked.expected)
  const { expectedBreakdown, expectedMeanMs, expectedMedianMs, expectedHistogram } = worked
  if (expectedBreakdown !== undefined) {
    const shown = breakdown!.map((entry) => [entry.value, entry.steps.map(({ users }) => users)])
    expect(Object.fromEntries(shown)).toEqual(expectedBreakdown)
  }
  if (expectedMeanMs !== undefined)
    expect(steps.map(({ meanMs }) => meanMs)).toEqual(expectedMeanMs)
  if (expectedMedianMs !== undefined)
    expect(steps.map(({ medianMs }) => medianMs)).toEqual(expectedMedianMs)
  if (expectedHistogram !== undefined)
    expect(timeToConvert!.histogram.map(({ fromMs, users }) => ({ fromMs, users }))).toEqual(
      expectedHistogram,
    )
})

test('every case is run, or waits for a reason', () => {
  const all = caseIds()
  expect(new Set(all).size).toBe(all.length)
  expect(all).toEqual(expect.arrayContaining(Object.keys(WAITING)))
  expect(runnableCases()).toHaveLength(all.length - Object.keys(WAITING).length)
})
