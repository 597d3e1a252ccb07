import { expect, test } from 'vitest'
import { declareFunnel } from '../../../src/analysis/funnel.ts'
import {
  caseIds,
  runnableCases,
  specOf,
  WAITING,
  WAITING_FOR_TIMES,
} from '../../support/funnel-cases.ts'
import { byValue, foldFunnel } from '../../support/funnel-oracle.ts'

test.each(runnableCases())('$id is answered as worked out', (worked) => {
  const spec = specOf(worked)
  const { count } = worked.funnel
  const events = count === undefined ? worked.events : byValue(worked.events, count.property)
  const { steps, breakdown } = declareFunnel(spec).result(foldFunnel(spec, events))
  expect(steps.map(({ users }) => users)).toEqual(worked.expected)
  if (worked.expectedBreakdown === undefined) return
  const shown = breakdown!.map((entry) => [entry.value, entry.steps.map(({ users }) => users)])
  expect(Object.fromEntries(shown)).toEqual(worked.expectedBreakdown)
})

test('every case is run, or waits for a reason', () => {
  const { all, withTimes } = caseIds()
  expect(new Set(all).size).toBe(all.length)
  expect(all).toEqual(expect.arrayContaining(Object.keys(WAITING)))
  expect(runnableCases()).toHaveLength(all.length - Object.keys(WAITING).length)
  expect(withTimes.toSorted()).toEqual(WAITING_FOR_TIMES.toSorted())
})
