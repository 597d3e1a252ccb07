import type { Command } from 'commander'
import { styleText } from 'node:util'
import { z } from 'zod'
import type { CommandContext } from './context.ts'
import { parseFunnel } from './funnel-grammar.ts'
import { requestJson } from './http-client.ts'
import { parseCount } from './parse-count.ts'
import { printable } from './printable.ts'
import { addTargetOptions, type TargetOptions } from './target-options.ts'
import { resolveTarget } from './target.ts'

const BAR_WIDTH = 40

const Steps = z.array(
  z.object({
    label: z.string(),
    users: z.number(),
    fromPrevious: z.number(),
    fromFirst: z.number(),
  }),
)
const Answer = z.looseObject({
  steps: Steps,
  breakdown: z.array(z.object({ value: z.string(), steps: Steps })).default([]),
  unit: z.string(),
  definition: z.string(),
  asOf: z.string(),
  warnings: z.array(z.string()),
  read: z.object({ partitions: z.number(), events: z.number() }),
  tookMs: z.object({ total: z.number() }),
})
type Answer = z.output<typeof Answer>

interface FunnelOptions extends TargetOptions {
  readonly window?: string
  readonly by?: string
  readonly countBy?: string
  readonly limit?: number
  readonly from?: string
  readonly to?: string
  readonly timeZone?: string
  readonly rangeBounds?: string
  readonly freshness: string
  readonly source?: string
  readonly json?: boolean
}

export function registerFunnel(program: Command, context: CommandContext): void {
  const command = program
    .command('funnel')
    .description('ask a funnel: "page_view[path=/pricing] > add_to_cart|quick_buy > purchase"')
    .argument('<steps>', 'steps by >, alternatives by |, conditions in [ ], * for any event')
    .option(
      '--window <duration>',
      'from the first step to the last, such as 30m, 12h, 7d (default: 14d)',
    )
    .option('--by <property>', 'break down by a property: its first value in the chain')
    .option('--count-by <property>', 'count the values of a property, across users, not users')
    .option('--limit <count>', 'values of the breakdown to show', parseCount())
    .option('--from <moment>', 'a date, ISO 8601 with a zone (default: 30 days before --to)')
    .option('--to <moment>', 'the same; not included (default: now)')
    .option('--time-zone <zone>', 'in which dates are meant; the project’s by default')
    .option('--range-bounds <bounds>', 'entry: later steps may fall after --to; or all')
    .option('--freshness <freshness>', 'now: all events up to this moment; or sealed', 'now')
    .option('--source <source>', 'segments or events')
  addTargetOptions(command, 'read')
    .option('--json', 'print the whole answer as JSON')
    .action(async (steps: string, options: FunnelOptions) => {
      const query = queryOf(steps, options)
      const target = await resolveTarget(context.loadConfig(), options, 'read')
      const answer = await requestJson(target, '/v1/funnels', query)
      context.print(options.json ? JSON.stringify(answer) : drawn(Answer.parse(answer)))
    })
}

function queryOf(steps: string, options: FunnelOptions) {
  const { window, by, countBy, limit, from, to, timeZone, rangeBounds, freshness, source } = options
  return {
    steps: parseFunnel(steps),
    ...{ window, from, to, timeZone, rangeBounds, freshness, source },
    ...(countBy === undefined ? {} : { count: { property: countBy } }),
    ...(by === undefined ? {} : { breakdown: { property: by, limit } }),
  }
}

/** For people: the whole and each value of the breakdown, then what the figures rest on. */
function drawn({
  steps,
  breakdown,
  unit,
  definition,
  asOf,
  warnings,
  read,
  tookMs,
}: Answer): string {
  const labelWidth = Math.max(...steps.map(({ label }) => printable(label).length))
  const blocks = [
    bars(steps, labelWidth),
    ...breakdown.map(
      (part) => `${styleText('bold', printable(part.value))}\n${bars(part.steps, labelWidth)}`,
    ),
    ...warnings.map((warning) => styleText('yellow', printable(warning))),
    ...(steps[0]?.users === 0
      ? ['Nobody: is it of another time? --from and --to ask for it.']
      : []),
    styleText('dim', definition),
    styleText(
      'dim',
      `${unit}, as of ${asOf}; read ${read.events} events of ${read.partitions} partitions in ${tookMs.total} ms`,
    ),
  ]
  return blocks.join('\n\n')
}

function bars(steps: Answer['steps'], labelWidth: number): string {
  return steps
    .map(({ label, users, fromPrevious, fromFirst }, index) => {
      const width = Math.round(BAR_WIDTH * Math.min(fromFirst, 1))
      const bar = '█'.repeat(width) + '░'.repeat(BAR_WIDTH - width)
      const shares =
        index === 0 ? '' : `  ${percent(fromFirst)} of all, ${percent(fromPrevious)} of the last`
      return `${index + 1} ${printable(label).padEnd(labelWidth)} ${bar} ${users}${shares}`
    })
    .join('\n')
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}
