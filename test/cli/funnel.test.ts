import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { registerFunnelUsers } from '../../src/cli/funnel-users.ts'
import { registerFunnel } from '../../src/cli/funnel.ts'
import { DAY_MS } from '../../src/event/day.ts'
import type { FunnelAnswer } from '../../src/query/funnel.ts'
import { runCommand } from '../support/command-line.ts'
import { openTestService, usersOf } from '../support/service.ts'

const CROWD_COUNT = 1_005

const service = await openTestService()
const project = await service.createProject()
const target = ['--url', service.url, '--key', project.readKey]

/** Ten days ago, at midnight UTC. */
const startMs = (Math.floor(Date.now() / DAY_MS) - 10) * DAY_MS
const date = (day: number) => new Date(startMs + day * DAY_MS).toISOString().slice(0, 10)
const done = (userId: string, event: string, [day, minute]: [number, number], properties = {}) => ({
  ...{ userId, event, properties, time: startMs + day * DAY_MS + minute * 60_000 },
})

await project.store([
  // Two days, of which the first is what the second is compared with.
  done('old', 'view', [0, 0], { price: 10 }),
  done('gone', 'view', [0, 0]),
  done('ada', 'sign_up', [1, 0], { org: 'acme' }),
  done('ada', 'view', [1, 10], { price: 15, plan: 'pro', org: 'acme' }),
  done('ada', 'coupon', [1, 20], { org: 'acme' }),
  done('ada', 'buy', [1, 30], { org: 'acme' }),
  done('bob', 'sign_up', [1, 0], { org: 'acme' }),
  done('bob', 'view', [1, 10], { price: 20, plan: 'free', org: 'acme' }),
  done('bob', 'logout', [1, 20], { reason: 'bored', org: 'acme' }),
  done('bob', 'buy', [1, 55], { org: 'other' }),
  done('eve', 'view', [1, 0], { plan: 'pro' }),
  ...Array.from({ length: CROWD_COUNT }, (_, one) => done(`crowd-${one}`, 'visit', [1, 0])),
])

const RANGE = ['--from', date(1), '--to', date(2)]
const run = (...words: string[]) =>
  runCommand(registerFunnel, ['funnel', ...words, ...RANGE, ...target], {})
const list = (...words: string[]) =>
  runCommand(registerFunnelUsers, ['funnel-users', ...words, ...RANGE, ...target], {})

async function answerOf(...words: string[]): Promise<FunnelAnswer> {
  const { code, out, errors } = await run(...words, '--json')
  expect([code, errors]).toEqual([0, ''])
  return JSON.parse(out) as FunnelAnswer
}

const countsOf = async (...words: string[]) => usersOf(await answerOf(...words))

describe('a funnel by the command line', () => {
  test('has optional steps, first times and labels', async () => {
    const answer = await answerOf('first:sign_up > seen = view > coupon? > buy')
    expect(usersOf(answer)).toEqual([2, 2, 1, 2])
    expect(answer.steps.map(({ label }) => label)).toEqual(['sign_up', 'seen', 'coupon', 'buy'])
  })

  test('has conditions of every kind', async () => {
    const asked = async (where: string) => (await countsOf(`view[${where}]`))[0]
    expect(await asked('price=15..20')).toBe(2)
    expect(await asked('plan=free|pro')).toBe(3)
    expect(await asked('plan!=free|basic')).toBe(2)
    expect(await asked('price=*')).toBe(2)
    expect(await asked('price!=*')).toBe(1)
    expect(await asked('plan^=PR, plan$=o')).toBe(2)
    expect(await asked('plan=~^(free|none)$')).toBe(1)
    expect(await asked('plan~re, plan!~pro, price>=20')).toBe(1)
  })

  test('is asked in another order, without what excludes, of held values and other units', async () => {
    expect(await countsOf('buy > view', '--order', 'any')).toEqual([3, 2])
    expect(await countsOf('view > buy', '--order', 'strict')).toEqual([3, 0])
    const excluded = ['--exclude', 'logout[reason=bored]@1-2']
    expect(await countsOf('view > buy', ...excluded)).toEqual([2, 1])
    expect(await countsOf('view > buy', '--hold', 'org')).toEqual([2, 1])
    expect(await countsOf('view > buy', '--entry', 'first', '--count', 'attempts')).toEqual([3, 2])
    expect(await countsOf('view > buy', '--count', 'sessions')).toEqual([3, 1])
    expect(await countsOf('view > buy', '--count-by', 'org')).toEqual([1, 1])
    const sample = await answerOf('visit', '--sample', '0.1')
    expect(sample.warnings[0]).toMatch(/estimates/)
  })

  test('is broken down by the value that it is asked for', async () => {
    const valuesOf = async (...words: string[]) => {
      const { breakdown } = await answerOf('view > buy', '--by', 'org', ...words)
      return breakdown!.map(({ value, steps }) => [value, steps[1]!.users])
    }
    expect(await valuesOf('--attribution', 'last')).toEqual([
      ...[
        ['acme', 1],
        ['other', 1],
        ['$none', 0],
      ],
    ])
    expect(await valuesOf('--attribution-step', '2')).toEqual(
      expect.arrayContaining([
        ['acme', 1],
        ['other', 1],
      ]),
    )
  })

  test('is drawn with its times, trend and what it is compared with', async () => {
    const words = ['--times', '--trend', 'day', '--compare', 'previous', '--window', '1d']
    const { out } = await run('view > buy', ...words)
    const blocks = stripVTControlCharacters(out).split('\n\n')
    const [steps, times, histogram, trend, compared] = blocks
    expect(steps!.split('\n')).toEqual([
      expect.stringMatching(
        /^step .* users +of all +of last +median +mean +p90 +compared +change$/,
      ),
      expect.stringMatching(/^1 view +█{2,} +3 +100\.0 % +2$/),
      expect.stringMatching(
        /^2 buy +█+░+ +2 +66\.7 % +66\.7 % +33 min +33 min +43 min +0 +\+66\.7 pp$/,
      ),
    ])
    expect(times).toMatch(/^from the first step to the last: median 33 min, mean 33 min, p90 43/)
    expect(histogram).toMatch(/^from +to +users\n20 min +33 min +1 +█+\n(.* 0\n)?.* 1 +█+$/)
    expect(trend).toMatch(new RegExp(`^by the time.*\nfrom .*\n${date(1)} +3 +2 +66\\.7 % +█+$`))
    expect(compared).toMatch(new RegExp(`^compared\nfrom .*\n${date(0)} +2 +0 +0\\.0 %$`))
    expect(out).toContain(`compared with ${date(0)}T00:00:00.000Z to before ${date(1)}T00`)
    const range = await answerOf('view > buy', '--compare', `${date(0)}..${date(2)}`)
    expect(range.compare!.steps.map(({ users }) => users)).toEqual([5, 2])
  })

  test('that the service does not take ends with 2', async () => {
    const { code, errors } = await run('a > b?', '--order', 'any')
    expect([code, errors]).toEqual([2, expect.stringContaining('none is optional')])
  })
})

describe('the users behind a bar', () => {
  const idsOf = async (...words: string[]) => {
    const { out } = await list(...words, '--json')
    const users = out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
    return (users as { userId: string }[]).map(({ userId }) => userId).sort()
  }

  test('are those who have the step, or who dropped before it', async () => {
    expect(await idsOf('view > buy')).toEqual(['ada', 'bob'])
    expect(await idsOf('view > buy', '--step', '1')).toEqual(['ada', 'bob', 'eve'])
    expect(await idsOf('view > buy', '--dropped')).toEqual(['eve'])
    const byOrg = ['--by', 'org', '--value']
    expect(await idsOf('view > buy', ...byOrg, 'acme')).toEqual(['ada', 'bob'])
    expect(await idsOf('view > buy', ...byOrg, '$none', '--dropped')).toEqual(['eve'])
  })

  test('are all listed, page by page, as CSV', async () => {
    const { out, errors } = await list('visit', '--users', 'all', '--csv')
    const [header, ...lines] = out.trimEnd().split('\n')
    expect(header).toBe('userId,enteredAt,reachedAt')
    expect(new Set(lines).size).toBe(CROWD_COUNT)
    expect(errors).toBe('')
    const some = await list('visit', '--users', '3')
    expect(some.out.split('\n')).toHaveLength(5)
    expect(some.errors).toBe('these are 3; --users shows more, or all\n')
  })

  test('are not those of a sample: that ends with 2', async () => {
    expect((await list('visit', '--sample', '0.5')).code).toBe(2)
  })
})
