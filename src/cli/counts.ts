import { Option, type Command } from 'commander'
import { z } from 'zod'
import type { CommandContext } from './context.ts'
import { requestJson } from './http-client.ts'
import { table } from './table.ts'
import { addTargetOptions, type TargetOptions } from './target-options.ts'
import { resolveTarget } from './target.ts'

const Answer = z.looseObject({
  counts: z.array(z.object({ time: z.string(), count: z.number(), approximate: z.boolean() })),
  asOf: z.string(),
})

interface CountsOptions extends TargetOptions {
  readonly event?: string
  readonly interval: string
  readonly from?: string
  readonly to?: string
  readonly timeZone?: string
  readonly freshness: string
  readonly json?: boolean
}

export function registerCounts(program: Command, context: CommandContext): void {
  const command = program
    .command('counts')
    .description('tell how often events happened, by minute, hour or day')
    .option('--event <name>', 'of this name only; minutes need one')
    .addOption(
      new Option('--interval <interval>', 'minutes of the last two days are live and approximate')
        .choices(['minute', 'hour', 'day'])
        .default('day'),
    )
    .option('--from <moment>', 'a date, ISO 8601 with a zone (default: 30 days before --to)')
    .option('--to <moment>', 'the same; not included (default: now)')
    .option('--time-zone <zone>', 'of days and dates; the project’s by default')
    .option('--freshness <freshness>', 'now: all events up to this moment; or sealed', 'now')
  addTargetOptions(command, 'read')
    .option('--json', 'print the whole answer as JSON')
    .action(async (options: CountsOptions) => {
      const { event, interval, from, to, timeZone, freshness } = options
      const target = await resolveTarget(context.loadConfig(), options, 'read')
      const query = new URLSearchParams()
      for (const [name, value] of Object.entries({
        event,
        interval,
        from,
        to,
        timeZone,
        freshness,
      }))
        if (value !== undefined) query.set(name, value)
      const answer = await requestJson(target, `/v1/counts?${query}`)
      context.print(options.json ? JSON.stringify(answer) : drawn(Answer.parse(answer)))
    })
}

function drawn({ counts, asOf }: z.output<typeof Answer>): string {
  const sum = counts.reduce((total, { count }) => total + count, 0)
  const about = counts.some(({ approximate }) => approximate) ? 'about ' : ''
  const rows = counts.map(({ time, count }) => [time, count])
  return `${table(['from', 'events'], rows)}\n\n${about}${sum} events, as of ${asOf}`
}
