import type { Command } from 'commander'
import { z } from 'zod'
import type { CommandContext } from './context.ts'
import { requestJson } from './http-client.ts'
import { printable } from './printable.ts'
import { addTargetOptions, type TargetOptions } from './target-options.ts'
import { resolveTarget } from './target.ts'
import { terminalWidth } from './terminal-width.ts'

const NAME_WIDTH = 24

const Answer = z.looseObject({
  events: z.array(
    z.looseObject({
      event: z.string(),
      time: z.string(),
      properties: z.record(z.string(), z.unknown()),
    }),
  ),
  cursor: z.string().optional(),
})

const Erased = z.looseObject({ erasedAt: z.string() })

interface UserOptions extends TargetOptions {
  readonly limit: string
  readonly cursor?: string
  readonly json?: boolean
}

export function registerUser(program: Command, context: CommandContext): void {
  const command = program
    .command('user')
    .description('show the newest events of a user')
    .argument('<id>', 'the user id; anonymous ones as anon:ID')
    .option('--limit <count>', 'how many', '100')
    .option('--cursor <cursor>', 'go on where an earlier answer ended')
  addTargetOptions(command, 'read')
    .option('--json', 'print the whole answer as JSON')
    .action(async (userId: string, options: UserOptions) => {
      const { limit, cursor } = options
      const target = await resolveTarget(context.loadConfig(), options, 'read')
      const query = new URLSearchParams({ limit, ...(cursor === undefined ? {} : { cursor }) })
      const path = `/v1/users/${encodeURIComponent(userId)}/events?${query}`
      const answer = await requestJson(target, path)
      context.print(options.json ? JSON.stringify(answer) : table(Answer.parse(answer)))
    })
  registerErase(command, context)
}

function registerErase(user: Command, context: CommandContext): void {
  const command = user
    .command('erase')
    .description('erase a user from all answers: what was received until now')
    .argument('<id>', 'the user id; anonymous ones as anon:ID')
  addTargetOptions(command, 'erase')
    .option('--json', 'print the whole answer as JSON')
    .action(async (userId: string, options: Omit<UserOptions, 'limit'>) => {
      const target = await resolveTarget(context.loadConfig(), options, 'erase')
      const path = `/v1/users/${encodeURIComponent(userId)}`
      const answer = await requestJson(target, path, undefined, 'DELETE')
      const { erasedAt } = Erased.parse(answer)
      const text = `${printable(userId)} is in no answer any more, with all received until ${erasedAt}`
      context.print(options.json ? JSON.stringify(answer) : text)
    })
}

function table({ events, cursor }: z.output<typeof Answer>): string {
  if (events.length === 0) return 'no events'
  const width = terminalWidth()
  const lines = events.map(({ time, event, properties }) =>
    `${time}  ${printable(event).padEnd(NAME_WIDTH)} ${JSON.stringify(properties)}`.slice(0, width),
  )
  return [...lines, ...(cursor === undefined ? [] : [`more: --cursor ${cursor}`])].join('\n')
}
