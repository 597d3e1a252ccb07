import { expect, test } from 'vitest'
import { declareFunnel } from '../../../src/analysis/funnel.ts'
import {
  caseIds,
  runnableCases,
  specOf,
  WAITING,
  type FunnelCase,
} from '../../support/funnel-cases.ts'
import { foldFunnel } from '../../support/fold-funnel.ts'
import { byValue, slowFunnel } from '../../support/funnel-oracle.ts'

const eventsOf = ({ events, funnel: { count } }: FunnelCase) =>
  typeof count === 'object' ? byValue(events, count.property) : events

/** The oracle tries every chain. */
const SLOW_EVENTS_MAX = 20

test.each(runnableCases().filter(({ events }) => events.length <= SLOW_EVENTS_MAX))(
  '$id is what the oracle says, too',
  (worked) => {
    expect(slowFunnel(specOf(worked), eventsOf(worked)).users).toEqual(worked.expected)
  },
)

test.each(runnableCases())('$id is answered as worked out', (worked) => {
  const spec = specOf(worked)
  const events = eventsOf(worked)
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
