import type { Command } from 'commander'
import { z } from 'zod'
import { systemClock as clock } from '../clock.ts'
import { resolveRange } from '../query/range.ts'
import type { CommandContext } from './context.ts'
import { parseWhere, type ParsedCondition } from './funnel-grammar.ts'
import { requestJson } from './http-client.ts'
import { parseCount } from './parse-count.ts'
import { printable } from './printable.ts'
import { addTargetOptions, type TargetOptions } from './target-options.ts'
import { resolveTarget } from './target.ts'
import { terminalWidth } from './terminal-width.ts'

const PAGE_EVENTS_MAX = 1_000
const LIMIT_DEFAULT = 100
const NAME_WIDTH = 20
const USER_WIDTH = 16

const Found = z.looseObject({
  event: z.string(),
  userId: z.string(),
  time: z.string(),
  properties: z.record(z.string(), z.unknown()),
})
type Found = z.output<typeof Found>

/** A page may be short, or empty, while there is a cursor. */
const Page = z.object({ events: z.array(Found), cursor: z.string().optional() })

interface SearchOptions extends TargetOptions {
  readonly event?: string
  readonly user?: string
  readonly where?: ParsedCondition[]
  readonly from?: string
  readonly to?: string
  readonly limit: number
  readonly json?: boolean
}

export function registerSearch(program: Command, context: CommandContext): void {
  const command = program
    .command('search')
    .description('show stored events of a range, newest first')
    .option('--event <name>', 'of this name only')
    .option('--user <id>', 'of this user only; anonymous ones as anon:ID')
    .option(
      '--where <conditions>',
      'path=/pricing, price>=10: as in a funnel; may be given again',
      (text, earlier: ParsedCondition[] = []) => [...earlier, ...parseWhere(text)],
    )
    .option('--from <moment>', 'a date, ISO 8601 with a zone (default: 30 days before --to)')
    .option('--to <moment>', 'the same; not included (default: now)')
    .option('--limit <count>', 'how many at most', parseCount(), LIMIT_DEFAULT)
  addTargetOptions(command, 'read')
    .option('--json', 'print each event as a line of JSON')
    .action(async (options: SearchOptions) => {
      const target = await resolveTarget(context.loadConfig(), options, 'read')
      let count = 0
      for await (const event of found(
        (body) => requestJson(target, '/v1/events/search', body),
        options,
      )) {
        context.print(options.json ? JSON.stringify(event) : line(event))
        count++
      }
      if (count === 0 && !options.json) context.print('no events')
      if (count === options.limit)
        context.printError(`these are the newest ${count}; --limit shows more, if there are any`)
    })
}

/** Asks for page after page until there are enough events, or no more. */
async function* found(
  ask: (body: unknown) => Promise<unknown>,
  options: SearchOptions,
): AsyncGenerator<Found> {
  const { event, user: userId, where, limit } = options
  const range = rangeOf(options)
  let left = limit
  let cursor: string | undefined
  do {
    const body = { ...range, event, userId, where, limit: Math.min(left, PAGE_EVENTS_MAX), cursor }
    const page = Page.parse(await ask(body))
    yield* page.events.slice(0, left)
    left -= page.events.length
    cursor = page.cursor
  } while (cursor !== undefined && left > 0)
}

/** Made definite here: the moment of the first page is that of all. */
function rangeOf({ from, to }: Pick<SearchOptions, 'from' | 'to'>) {
  const { startMs, endMs } = resolveRange({ to }, { timeZone: 'UTC', nowMs: clock.nowMs() })
  return { from: from ?? new Date(startMs).toISOString(), to: to ?? new Date(endMs).toISOString() }
}

function line({ time, event, userId, properties }: Found): string {
  const who = printable(userId).padEnd(USER_WIDTH)
  const what = printable(event).padEnd(NAME_WIDTH)
  const width = terminalWidth()
  return `${time}  ${who} ${what} ${JSON.stringify(properties)}`.slice(0, width)
}
