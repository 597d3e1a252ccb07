import { expect, test } from 'vitest'
import { registerCounts } from '../../../src/cli/counts.ts'
import { runCommand } from '../../support/command-line.ts'
import { openFakeService, problem } from '../../support/fake-service.ts'

const service = await openFakeService()
const counts = (...words: string[]) =>
  runCommand(registerCounts, ['counts', '--url', service.url, '--key', 'r', ...words], {})

const ANSWER = {
  counts: [
    { time: '2026-11-01T00:00:00.000Z', count: 7, approximate: false },
    { time: '2026-11-02T00:00:00.000Z', count: 1_200, approximate: false },
  ],
  ...{ asOf: '2026-11-02T12:00:00.000Z', interval: 'day' },
}

test('counts are asked for with what was given, days of now by default', async () => {
  service.reset(() => [200, ANSWER])
  await counts()
  const range = ['--from', '2026-11-01', '--to', '2026-11-03', '--time-zone', 'Europe/Berlin']
  await counts('--event', 'a & b', '--interval', 'hour', ...range, '--freshness', 'sealed')
  const [first, second] = service.asked.map(({ path }) => new URL(path, service.url))
  expect(Object.fromEntries(first!.searchParams)).toEqual({ interval: 'day', freshness: 'now' })
  expect(second!.pathname).toBe('/v1/counts')
  expect(Object.fromEntries(second!.searchParams)).toEqual({
    ...{ event: 'a & b', interval: 'hour', freshness: 'sealed' },
    ...{ from: '2026-11-01', to: '2026-11-03', timeZone: 'Europe/Berlin' },
  })
})

test('counts are a table with their sum, or the answer as it came', async () => {
  service.reset(() => [200, ANSWER])
  expect((await counts()).out.split('\n')).toEqual([
    'from                      events',
    '2026-11-01T00:00:00.000Z       7',
    '2026-11-02T00:00:00.000Z    1200',
    ...['', '1207 events, as of 2026-11-02T12:00:00.000Z', ''],
  ])
  expect(JSON.parse((await counts('--json')).out)).toEqual(ANSWER)
})

test('minutes are told as approximate', async () => {
  const live = ANSWER.counts.map((count) => ({ ...count, approximate: true }))
  service.reset(() => [200, { ...ANSWER, counts: live }])
  expect((await counts('--interval', 'minute', '--event', 'a')).out).toContain('about 1207 events')
})

test('what is wrongly asked ends with 2', async () => {
  service.reset(() => problem(400, 'INVALID_QUERY'))
  expect((await counts('--interval', 'minute')).code).toBe(2)
  expect((await counts('--interval', 'week')).code).toBe(2)
})
