import { stringify } from 'csv-stringify/sync'
import { Option, type Command } from 'commander'
import { z } from 'zod'
import { FUNNEL_USERS_MAX } from '../wire/funnel-users-query.ts'
import type { CommandContext } from './context.ts'
import { addFunnelOptions, funnelQueryOf, type FunnelOptions } from './funnel-options.ts'
import { requestJson } from './http-client.ts'
import { parseCount } from './parse-count.ts'
import { printable } from './printable.ts'
import { addTargetOptions, type TargetOptions } from './target-options.ts'
import { resolveTarget } from './target.ts'

const USERS_DEFAULT = 100

const Users = z.array(
  z.object({ userId: z.string(), enteredAt: z.string(), reachedAt: z.string() }),
)
type Users = z.output<typeof Users>

const Page = z.object({ users: Users, cursor: z.string().optional() })

interface Options extends FunnelOptions, TargetOptions {
  readonly step?: number
  readonly dropped?: boolean
  readonly value?: string
  readonly users: number
  readonly csv?: boolean
  readonly json?: boolean
}

export function registerFunnelUsers(program: Command, context: CommandContext): void {
  const command = program
    .command('funnel-users')
    .description('list the users behind a bar of a funnel, asked as `funnel` asks it')
  addFunnelOptions(command)
    .option('--step <number>', 'those who have this step (default: the last one)', parseCount())
    .option('--dropped', 'those who have the step before it, and not this one')
    .option('--value <value>', 'only those whom the breakdown counts under this value')
    .option(
      '--users <count>',
      'how many at most; all: however many they are',
      (text) => (text === 'all' ? Infinity : parseCount()(text)),
      USERS_DEFAULT,
    )
  addTargetOptions(command, 'read')
    .option('--csv', 'print them as CSV')
    .addOption(new Option('--json', 'print each as a line of JSON').conflicts('csv'))
    .action(async (steps: string, options: Options) => {
      const query = questionOf(steps, options)
      const target = await resolveTarget(context.loadConfig(), options, 'read')
      const ask = (body: unknown) => requestJson(target, '/v1/funnels/users', body)
      const draw = options.csv ? csvLines : options.json ? jsonLines : textLines
      let isFirst = true
      for await (const users of pages(ask, query, options.users, context.printError)) {
        const text = draw(users, isFirst)
        if (text !== '') context.print(text)
        isFirst = false
      }
    })
}

function questionOf(steps: string, options: Options) {
  const { step, dropped, value: breakdownValue } = options
  const query = funnelQueryOf(steps, options)
  const outcome = dropped ? 'dropped' : 'converted'
  return { ...query, step: step ?? query.steps.length, outcome, breakdownValue }
}

/** Asks for page after page until there are enough users, or no more; says so where there are more. */
async function* pages(
  ask: (body: unknown) => Promise<unknown>,
  query: object,
  count: number,
  note: (text: string) => void,
): AsyncGenerator<Users> {
  let left = count
  let cursor: string | undefined
  do {
    const limit = Math.min(left, FUNNEL_USERS_MAX)
    const page = Page.parse(await ask({ ...query, limit, cursor }))
    yield page.users
    left -= page.users.length
    cursor = page.cursor
  } while (cursor !== undefined && left > 0)
  if (cursor !== undefined) note(`these are ${count}; --users shows more, or all`)
}

function csvLines(users: Users, withHeader: boolean): string {
  const columns = ['userId', 'enteredAt', 'reachedAt']
  // The library quotes whole delimiters only.
  const options = { header: withHeader, columns, quoted_match: /[\r\n]/ }
  return stringify([...users], options).replace(/\n$/, '')
}

function jsonLines(users: Users): string {
  return users.map((user) => JSON.stringify(user)).join('\n')
}

/** The times first, since all are equally long. */
function textLines(users: Users, withHeader: boolean): string {
  const lines = users.map(
    ({ userId, enteredAt, reachedAt }) => `${enteredAt}  ${reachedAt}  ${printable(userId)}`,
  )
  if (withHeader && users.length === 0) return 'nobody'
  const header = `${'entered'.padEnd(24)}  ${'reached'.padEnd(24)}  user`
  return [...(withHeader ? [header] : []), ...lines].join('\n')
}
