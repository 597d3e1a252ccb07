import { expect, test } from 'vitest'
import type { FunnelAnswer } from '../../src/query/funnel.ts'
import { SESSION_ID_PATH } from '../../src/segment/columns.ts'
import { expectsTimes, runnableCases, type FunnelCase } from '../support/funnel-cases.ts'
import { openTestService, usersOf } from '../support/service.ts'

const service = await openTestService()
const DAY_MS = 86_400_000

// In the recent past and by whole days, so that what shares a day still does.
function shiftOf(timesMs: readonly number[]): number {
  const daysAgo = Math.ceil((Math.max(...timesMs, 0) + DAY_MS) / DAY_MS)
  return (Math.floor(Date.now() / DAY_MS) - daysAgo) * DAY_MS
}

test.each(runnableCases())('$id is answered over HTTP as worked out', async (worked) => {
  const { events, funnel, expected, expectedBreakdown, timeZones = ['UTC'] } = worked
  const project = await service.createProject()
  const shiftMs = shiftOf(events.map(({ timeMs }) => timeMs))
  await project.store(
    events.map(({ user, event, timeMs, properties: { [SESSION_ID_PATH]: id, ...sent } = {} }) => ({
      ...{ userId: user, event, time: timeMs + shiftMs, properties: sent },
      ...(id !== undefined && { sessionId: id }),
    })),
  )
  const query = { ...funnel, from: funnel.from + shiftMs, to: funnel.to + shiftMs }
  for (const source of ['events', 'segments'])
    for (const timeZone of timeZones) {
      const timeToConvert = expectsTimes(worked)
      const answer = await project.funnel({ ...query, source, timeZone, timeToConvert })
      expect(usersOf(answer)).toEqual(expected)
      if (expectedBreakdown !== undefined) {
        const shown = answer.breakdown!.map((entry) => [entry.value, usersOf(entry)])
        expect(Object.fromEntries(shown)).toEqual(expectedBreakdown)
      }
      expectTimes(worked, answer)
    }
})

function expectTimes(worked: FunnelCase, { steps, histogram }: FunnelAnswer): void {
  const { expectedMeanMs, expectedMedianMs, expectedHistogram } = worked
  if (expectedMeanMs !== undefined)
    expect(steps.map(({ meanMs }) => meanMs)).toEqual(expectedMeanMs)
  if (expectedMedianMs !== undefined)
    expect(steps.map(({ medianMs }) => medianMs)).toEqual(expectedMedianMs)
  if (expectedHistogram !== undefined)
    expect(histogram!.map(({ fromMs, users }) => ({ fromMs, users }))).toEqual(expectedHistogram)
}
