import { expect, test } from 'vitest'
import { registerFunnelUsers } from '../../../src/cli/funnel-users.ts'
import { checked } from '../../../src/wire/check.ts'
import { FunnelUsersQuery } from '../../../src/wire/funnel-users-query.ts'
import { runCommand } from '../../support/command-line.ts'
import { openFakeService } from '../../support/fake-service.ts'

const service = await openFakeService()
const list = (...words: string[]) =>
  runCommand(
    registerFunnelUsers,
    ['funnel-users', '--url', service.url, '--key', 'r', ...words],
    {},
  )
const bodies = () => service.asked.map(({ body }) => JSON.parse(body) as Record<string, unknown>)

const [enteredAt, reachedAt] = ['2026-11-01T00:00:00.000Z', '2026-11-02T00:00:00.000Z']
const user = (userId: string) => ({ userId, enteredAt, reachedAt })

/** Answers one page after the other, each with a cursor but the last. */
function answerPages(...pages: string[][]): void {
  service.reset(() => {
    const index = service.asked.length - 1
    const cursor = index < pages.length - 1 ? { cursor: `after ${index}` } : {}
    return [200, { users: pages[index]!.map(user), asOf: reachedAt, ...cursor }]
  })
}

test('those who have the last step are listed where nothing else is asked', async () => {
  answerPages([])
  await list('a > b > c')
  expect(service.asked[0]).toMatchObject({ method: 'POST', path: '/v1/funnels/users' })
  expect(bodies()).toMatchObject([{ step: 3, outcome: 'converted', limit: 100, freshness: 'now' }])
})

test('the bar is told by its step, outcome and value, with the options of the funnel', async () => {
  answerPages([])
  const words = ['--step', '2', '--dropped', '--by', 'country', '--value', 'DE', '--limit', '3']
  await list('a > b? > c', ...words, '--entry', 'first', '--count', 'sessions', '--hold', 'org')
  const taken = checked(FunnelUsersQuery, bodies()[0], 'INVALID_QUERY')
  expect(taken).toMatchObject({
    ...{ step: 2, outcome: 'dropped', breakdownValue: 'DE', limit: 100 },
    breakdown: { property: 'country', limit: 3 },
    ...{ entry: 'first', count: 'sessions', hold: ['org'] },
  })
})

test('pages are followed up to as many as were asked for, and it is said that there are more', async () => {
  answerPages(['u-1', 'u-2'], ['u-3'], ['u-4'])
  const { out, errors } = await list('a', '--users', '3')
  expect(out.split('\n')).toEqual([
    'entered                   reached                   user',
    ...['u-1', 'u-2', 'u-3'].map((id) => `${enteredAt}  ${reachedAt}  ${id}`),
    '',
  ])
  expect(errors).toBe('these are 3; --users shows more, or all\n')
  expect(bodies().map(({ limit, cursor }) => [limit, cursor])).toEqual([
    [3, undefined],
    [1, 'after 0'],
  ])
})

test('all are listed, however many they are', async () => {
  answerPages(['u-1'], ['u-2'], ['u-3'])
  const { out, errors } = await list('a', '--users', 'all', '--json')
  const lines = out.trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(['u-1', 'u-2', 'u-3'].map(user))
  expect(errors).toBe('')
  expect(bodies().map(({ limit }) => limit)).toEqual([1_000, 1_000, 1_000])
})

test('CSV has one header, and quotes what has to be', async () => {
  answerPages(['a,b'], ['say "hi"', 'two\rlines'])
  expect((await list('a', '--csv')).out).toBe(
    [
      'userId,enteredAt,reachedAt',
      `"a,b",${enteredAt},${reachedAt}`,
      `"say ""hi""",${enteredAt},${reachedAt}`,
      `"two\rlines",${enteredAt},${reachedAt}`,
      '',
    ].join('\n'),
  )
})

test('nobody is said to people, a header as CSV, and nothing as JSON', async () => {
  answerPages([])
  expect((await list('a')).out).toBe('nobody\n')
  answerPages([])
  expect((await list('a', '--csv')).out).toBe('userId,enteredAt,reachedAt\n')
  answerPages([])
  expect((await list('a', '--json')).out).toBe('')
})

test('ids are harmless to a terminal', async () => {
  answerPages(['\u001b[31mred'])
  expect((await list('a')).out).toContain('  ?[31mred\n')
})

test.each([
  [['--users', '0'], 'a whole number above 0'],
  [['--users', 'many'], 'a whole number above 0'],
  [['--step', '0'], 'a whole number above 0'],
  [['--csv', '--json'], 'cannot be used with'],
])('%j ends with 2', async (words, message) => {
  answerPages([])
  const { code, errors } = await list('a', ...words)
  expect([code, errors]).toEqual([2, expect.stringContaining(message)])
})
