import { expect, test } from 'vitest'
import { registerSearch } from '../../../src/cli/search.ts'
import { runCommand } from '../../support/command-line.ts'
import { openFakeService } from '../../support/fake-service.ts'

const service = await openFakeService()
const search = (...words: string[]) =>
  runCommand(registerSearch, ['search', '--url', service.url, '--key', 'r', ...words], {})
const bodies = () => service.asked.map(({ body }) => JSON.parse(body) as Record<string, unknown>)

const event = (number: number) => ({
  ...{ id: `e-${number}`, event: 'view', userId: `u-${number}`, properties: { number } },
  ...{ time: `2026-11-01T00:00:0${number}.000Z`, receivedAt: '2026-11-01T01:00:00.000Z' },
})

/** Answers one page after the other, each with a cursor but the last. */
function answerPages(...pages: ReturnType<typeof event>[][]): void {
  service.reset(() => {
    const index = service.asked.length - 1
    const cursor = index < pages.length - 1 ? { cursor: `after ${index}` } : {}
    return [200, { events: pages[index], ...cursor }]
  })
}

test('a search is asked with its range, name, user and conditions', async () => {
  answerPages([])
  await search(
    ...['--event', 'view', '--user', '42', '--from', '2026-11-01', '--to', '2026-11-02'],
    ...['--where', 'path=/pricing, price>=10', '--where', '"a,b"!="x"'],
  )
  expect(service.asked[0]).toMatchObject({ method: 'POST', path: '/v1/events/search' })
  expect(bodies()).toEqual([
    {
      ...{ from: '2026-11-01', to: '2026-11-02', event: 'view', userId: '42', limit: 100 },
      where: [
        { property: 'path', op: 'eq', value: '/pricing' },
        { property: 'price', op: 'gte', value: 10 },
        { property: 'a,b', op: 'ne', value: 'x' },
      ],
    },
  ])
})

test('the range is of the 30 days to --to, and the same for every page', async () => {
  answerPages([], [], [])
  await search('--to', '2026-11-30T00:00:00Z')
  const range = { from: '2026-10-31T00:00:00.000Z', to: '2026-11-30T00:00:00Z' }
  expect(bodies()).toMatchObject([range, range, range])
  answerPages([], [])
  await search()
  const [first, second] = bodies()
  expect(Date.parse(String(first!['to'])) - Date.parse(String(first!['from']))).toBe(2_592_000_000)
  expect(second).toEqual({ ...first, cursor: 'after 0' })
})

test('pages are followed, short and empty ones too, until there is no cursor', async () => {
  answerPages([event(3)], [], [event(2), event(1)])
  const { out, errors } = await search('--json')
  expect(
    out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([3, 2, 1].map(event))
  expect(errors).toBe('')
  expect(bodies().map(({ cursor }) => cursor)).toEqual([undefined, 'after 0', 'after 1'])
})

test('pages are followed up to the limit, and no further', async () => {
  answerPages([event(3)], [event(2)], [event(1)])
  const { out, errors } = await search('--limit', '2')
  expect(out.split('\n')).toEqual([
    '2026-11-01T00:00:03.000Z  u-3              view                 {"number":3}',
    '2026-11-01T00:00:02.000Z  u-2              view                 {"number":2}',
    '',
  ])
  expect(errors).toBe('these are the newest 2; --limit shows more, if there are any\n')
  expect(bodies().map(({ limit }) => limit)).toEqual([2, 1])
  answerPages([event(1)])
  await search('--limit', '5000')
  expect(bodies()).toMatchObject([{ limit: 1_000 }])
})

test('nothing found is said to people, and is nothing as JSON', async () => {
  answerPages([])
  expect((await search()).out).toBe('no events\n')
  answerPages([])
  expect((await search('--json')).out).toBe('')
})

test.each([
  [['--where', 'path'], 'at character 5: expected = != > >= < <= ~ !~ ^= $= or =~, found the end'],
  [['--where', 'path=/a]'], 'at character 8: expected a comma, found ]'],
  [['--to', 'yesterday'], 'to: a date'],
  [['--limit', '0'], 'a whole number above 0'],
])('%j ends with 2', async (words, message) => {
  answerPages([])
  const { code, errors } = await search(...words)
  expect([code, errors]).toEqual([2, expect.stringContaining(message)])
})
