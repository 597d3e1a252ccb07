import { expect, test } from 'vitest'
import { registerFunnel } from '../../../src/cli/funnel.ts'
import { checked } from '../../../src/wire/check.ts'
import { FunnelQuery } from '../../../src/wire/funnel-query.ts'
import { runCommand } from '../../support/command-line.ts'
import { openFakeService, problem } from '../../support/fake-service.ts'
import { FUNNEL_ANSWER } from '../../support/funnel-answer.ts'

const service = await openFakeService()
const funnel = (...words: string[]) =>
  runCommand(registerFunnel, ['funnel', '--url', service.url, '--key', 'r', ...words], {})

/** What the service is asked, as it came and as the service takes it. */
async function asked(...words: string[]) {
  service.reset(() => [200, FUNNEL_ANSWER])
  const { code, errors } = await funnel(...words)
  expect([code, errors]).toEqual([0, ''])
  const [{ path, body }] = service.asked as [(typeof service.asked)[0]]
  expect(path).toBe('/v1/funnels')
  const sent = JSON.parse(body) as object
  return { sent, taken: checked(FunnelQuery, sent, 'INVALID_QUERY') }
}

test('a funnel is asked with its steps alone, of now, where nothing else is given', async () => {
  expect((await asked('a > b')).sent).toEqual({
    ...{ steps: [{ event: 'a' }, { event: 'b' }], freshness: 'now' },
  })
})

test('every option reaches the service, and is one that it takes', async () => {
  const { taken } = await asked(
    ...['A = first:a[x=1] > b > c? > d', '--window', '7d', '--order', 'strict', '--entry', 'first'],
    ...['--exclude', 'logout[reason=x]@2-4', '--exclude', 'refund', '--count', 'sessions'],
    ...['--hold', 'org,plan', '--by', 'country', '--attribution', 'last', '--limit', '3'],
    ...['--trend', 'week', '--compare', 'previous', '--times', '--sample', '0.1'],
    ...['--from', '2026-11-01', '--to', '2026-12-01', '--time-zone', 'Europe/Berlin'],
    ...['--range-bounds', 'all', '--freshness', 'sealed', '--source', 'events'],
  )
  const where = (property: string, value: unknown) => [{ property, op: 'eq', value }]
  const step = { optional: false, firstTime: false, where: [] }
  expect(taken).toEqual({
    steps: [
      { ...step, label: 'A', event: 'a', where: where('x', 1), firstTime: true },
      { ...step, event: 'b' },
      { ...step, event: 'c', optional: true },
      { ...step, event: 'd' },
    ],
    ...{ windowMs: 7 * 86_400_000, order: 'strict', entry: 'first' },
    exclude: [
      { event: 'logout', where: where('reason', 'x'), afterStep: 2, beforeStep: 4 },
      { event: 'refund', where: [], afterStep: 1, beforeStep: 2 },
    ],
    ...{ count: 'sessions', hold: ['org', 'plan'] },
    breakdown: { property: 'country', attribution: 'last', step: 1, limit: 3 },
    ...{ trend: 'week', compare: 'previous', timeToConvert: true, sample: 0.1 },
    ...{ from: '2026-11-01', to: '2026-12-01', timeZone: 'Europe/Berlin', rangeBounds: 'all' },
    ...{ freshness: 'sealed', source: 'events' },
  })
})

test('the range to compare with is two moments', async () => {
  const [from, to] = ['2026-10-01', '2026-10-02T00:00:00.5Z']
  const { taken } = await asked('a', '--compare', `${from}..${to}`)
  expect(taken.compare).toEqual({ from, to })
})

test('a breakdown has two names, and the step of the value stands for its attribution', async () => {
  const { taken } = await asked('a > b', '--breakdown', 'x', '--attribution-step', '2')
  expect(taken.breakdown).toMatchObject({ property: 'x', attribution: 'step', step: 2 })
  const byFirst = await asked('a', '--by', 'x')
  expect(byFirst.sent).toMatchObject({ breakdown: { property: 'x' } })
})

test('values of a property are counted instead of users', async () => {
  expect((await asked('a', '--count-by', 'org')).taken.count).toEqual({ property: 'org' })
})

test('the answer is printed as it is with --json', async () => {
  const answer = { ...FUNNEL_ANSWER, more: { than: 'is drawn' } }
  service.reset(() => [200, answer])
  expect(JSON.parse((await funnel('a', '--json')).out)).toEqual(answer)
})

test('what the service refuses ends with 2, with its reasons', async () => {
  service.reset(() => problem(400, 'INVALID_QUERY'))
  const { code, errors } = await funnel('a > b?', '--order', 'any')
  expect([code, errors]).toEqual([2, 'INVALID_QUERY: because of INVALID_QUERY\n'])
})

test.each([
  [['a', '--order', 'wild'], 'Allowed choices are ordered, strict, any'],
  [['a', '--entry', 'last'], 'Allowed choices are best, first'],
  [['a', '--exclude', 'b@'], 'at character 3: expected the number of a step'],
  [['a', '--count', 'events'], 'Allowed choices are users, attempts, sessions'],
  [['a', '--count', 'users', '--count-by', 'org'], 'cannot be used with'],
  [['a', '--hold', 'x,'], 'at character 3: expected a name'],
  [['a', '--attribution', 'last'], '--attribution: only with --by'],
  [['a', '--attribution-step', '1'], '--attribution: only with --by'],
  [
    ['a', '--by', 'x', '--attribution', 'last', '--attribution-step', '1'],
    '--attribution-step: only with --attribution step',
  ],
  [['a', '--trend', 'minute'], 'Allowed choices are hour, day, week, month'],
  [['a', '--compare', 'last year'], 'previous, or a range FROM..TO'],
  [['a', '--sample', '10%'], 'a share above 0, up to 1'],
  [['a', '--sample', '0'], 'a share above 0, up to 1'],
])('%j ends with 2, and asks nothing', async (words, message) => {
  service.reset(() => [200, FUNNEL_ANSWER])
  const { code, errors } = await funnel(...words)
  expect([code, errors]).toEqual([2, expect.stringContaining(message)])
  expect(service.asked).toEqual([])
})
