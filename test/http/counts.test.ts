import { describe, expect, test } from 'vitest'
import { send } from '../support/http-client.ts'
import { openTestService, type TestProject } from '../support/service.ts'

const service = await openTestService()
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const TODAY_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS

interface Counts {
  readonly counts: readonly { time: string; count: number; approximate: boolean }[]
  readonly asOf: string
}

const get = (project: TestProject, parameters: Record<string, string>) =>
  send(`${service.url}/v1/counts?${String(new URLSearchParams(parameters))}`, {
    key: project.readKey,
  })

async function countsOf(project: TestProject, parameters: Record<string, string>) {
  const answer = await get(project, { freshness: 'now', ...parameters })
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)])
  return answer.json<Counts>().counts
}

describe('hours and days', async () => {
  const project = await service.createProject()
  const times = Array.from({ length: 400 }, (_, index) => TODAY_MS - index * 997_000 * 3)
  await project.store(
    times.map((time, index) => ({
      ...{ id: `c-${index}`, userId: index % 9, time },
      event: index % 3 === 0 ? 'buy' : 'view',
    })),
  )
  // Again: copies are not counted.
  await project.store(
    times.slice(0, 50).map((time, index) => ({
      ...{ id: `c-${index}`, userId: index % 9, time },
      event: index % 3 === 0 ? 'buy' : 'view',
    })),
  )

  test.each([
    ['UTC', 0],
    ['Asia/Kathmandu', 5.75 * HOUR_MS],
    ['America/Phoenix', -7 * HOUR_MS],
  ])('are exact in %s', async (timeZone, offsetMs) => {
    for (const [interval, lengthMs] of [
      ['hour', HOUR_MS],
      ['day', DAY_MS],
    ] as const)
      for (const event of ['buy', 'view']) {
        const range = {
          from: new Date(TODAY_MS - 10 * DAY_MS).toISOString(),
          to: new Date(TODAY_MS + DAY_MS).toISOString(),
        }
        const counts = await countsOf(project, { event, interval, timeZone, ...range })
        expect(counts.every(({ approximate }) => !approximate)).toBe(true)
        for (const { time, count } of counts) {
          const startMs = Date.parse(time)
          expect((startMs + offsetMs) % lengthMs).toBe(0)
          const expected = times.filter(
            (ms, index) =>
              ms >= startMs && ms < startMs + lengthMs && (index % 3 === 0) === (event === 'buy'),
          )
          expect([time, count]).toEqual([time, expected.length])
        }
      }
  })

  test('of all events, where none is named', async () => {
    const counts = await countsOf(project, { from: new Date(TODAY_MS - 20 * DAY_MS).toISOString() })
    expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(400)
  })

  test('follow a change of the clocks', async () => {
    // The 25th of October 2026 has 25 hours in Berlin.
    const zone = { timeZone: 'Europe/Berlin', from: '2026-10-24', to: '2026-10-27' }
    const days = await countsOf(project, { interval: 'day', ...zone })
    expect(days.map(({ time }) => time)).toEqual([
      ...['2026-10-23T22:00:00.000Z', '2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'],
    ])
    expect(await countsOf(project, { interval: 'hour', ...zone })).toHaveLength(73)
  })

  test('of an empty range are none', async () => {
    expect(await countsOf(project, { from: '2026-10-24', to: '2026-10-24' })).toEqual([])
  })
})

test('minutes are live, of one event, and say that they are approximate', async () => {
  const project = await service.createProject()
  await project.store(Array.from({ length: 5 }, () => ({ event: 'e', userId: 1 })))
  await expect
    .poll(
      async () => {
        const counts = await countsOf(project, { event: 'e', interval: 'minute' })
        expect(counts.every(({ approximate }) => approximate)).toBe(true)
        return counts.reduce((sum, { count }) => sum + count, 0)
      },
      { timeout: 20_000 },
    )
    .toBe(5)
})

test.each([
  [{ interval: 'minute' }, 'event'],
  [{ interval: 'minute', event: 'e', from: '2026-01-01' }, 'from'],
  [{ interval: 'week' }, 'interval'],
  [{ interval: 'hour', from: '2020-01-01' }, 'interval'],
  [{ from: 'x' }, 'from'],
  [{ from: '2026-11-02', to: '2026-11-01' }, 'from'],
  [{ timeZone: 'Mars' }, 'timeZone'],
])('%j is refused', async (parameters, path) => {
  const project = await service.createProject()
  const answer = await get(project, parameters)
  expect([answer.status, answer.json<{ errors: { path: string }[] }>().errors[0]!.path]).toEqual([
    400,
    path,
  ])
})
