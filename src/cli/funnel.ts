import { Option, type Command } from 'commander'
import type { CommandContext } from './context.ts'
import { drawFunnel } from './draw-funnel.ts'
import { FunnelAnswer } from './funnel-answer.ts'
import {
  addFunnelOptions,
  funnelQueryOf,
  parseCompared,
  type FunnelOptions,
} from './funnel-options.ts'
import { requestJson } from './http-client.ts'
import { addTargetOptions, type TargetOptions } from './target-options.ts'
import { resolveTarget } from './target.ts'
import { terminalWidth } from './terminal-width.ts'

interface Options extends FunnelOptions, TargetOptions {
  readonly json?: boolean
}

export function registerFunnel(program: Command, context: CommandContext): void {
  const command = program
    .command('funnel')
    .description('ask a funnel: "page_view[path=/pricing] > add_to_cart|quick_buy > purchase"')
  addFunnelOptions(command)
    .addOption(
      new Option('--trend <interval>', 'by interval of the entry').choices([
        ...['hour', 'day', 'week', 'month'],
      ]),
    )
    .option(
      '--compare <range>',
      'previous: the range before, as long; or another one, FROM..TO',
      parseCompared,
    )
    .option('--times', 'how long it took: median, mean, 90th percentile, and a histogram')
  addTargetOptions(command, 'read')
    .option('--json', 'print the whole answer as JSON')
    .action(async (steps: string, options: Options) => {
      const query = funnelQueryOf(steps, options)
      const target = await resolveTarget(context.loadConfig(), options, 'read')
      const answer = await requestJson(target, '/v1/funnels', query)
      context.print(
        options.json
          ? JSON.stringify(answer)
          : drawFunnel(FunnelAnswer.parse(answer), terminalWidth()),
      )
    })
}
