import { InvalidArgumentError, Option, type Command } from 'commander'
import { AppError } from '../error.ts'
import { parseExclusion, parseFunnel, parseNames, type ParsedExclusion } from './funnel-grammar.ts'
import { parseCount } from './parse-count.ts'

/** How a funnel is asked, besides its steps; what is absent is as the service has it by default. */
export interface FunnelOptions {
  readonly window?: string
  readonly order?: string
  readonly entry?: string
  readonly exclude?: readonly ParsedExclusion[]
  readonly count?: string
  readonly countBy?: string
  readonly hold?: readonly string[]
  /** The property to break down by. */
  readonly breakdown?: string
  readonly attribution?: string
  readonly attributionStep?: number
  readonly limit?: number
  readonly trend?: string
  readonly compare?: 'previous' | { readonly from: string; readonly to: string }
  readonly times?: true
  readonly sample?: number
  readonly from?: string
  readonly to?: string
  readonly timeZone?: string
  readonly rangeBounds?: string
  readonly freshness: string
  readonly source?: string
}

const STEPS_HELP = `
Steps are joined by >, alternatives by |; * is any event. A name or a value
that holds such signs stands in double quotes: '"a > b" > c'.
  view[path=/pricing, price>=10]  conditions by = != > >= < <=, ~ contains,
                                  !~ does not, ^= begins, $= ends, =~ matches;
                                  =a|b one of, =10..20, =* any value, !=* none
  coupon?                         a step that may be left out
  first:sign_up                   the first ever of this name by the user
  first-matching:view[path=/]     the first ever that meets the conditions
  pricing = view[path=/pricing]   a label`

/** Adds what every command that takes a funnel has in common. */
export function addFunnelOptions(command: Command): Command {
  command
    .argument('<steps>', 'such as "page_view[path=/pricing] > add_to_cart|quick_buy > purchase"')
    .addHelpText('after', STEPS_HELP)
  addChainOptions(command)
  addSplitOptions(command)
  return command
    .option('--from <moment>', 'a date, ISO 8601 with a zone (default: 30 days before --to)')
    .option('--to <moment>', 'the same; not included (default: now)')
    .option('--time-zone <zone>', 'in which dates are meant; the project’s by default')
    .option('--range-bounds <bounds>', 'entry: later steps may fall after --to; or all')
    .option('--freshness <freshness>', 'now: all events up to this moment; or sealed', 'now')
    .option('--source <source>', 'segments or events')
}

/** What a chain is, and what is counted of it. */
function addChainOptions(command: Command): void {
  command
    .option(
      '--window <duration>',
      'from the first step to the last, such as 30m, 12h, 7d (default: 14d)',
    )
    .addOption(
      new Option('--order <order>', 'strict: no other event in between').choices([
        ...['ordered', 'strict', 'any'],
      ]),
    )
    .addOption(
      new Option('--entry <entry>', 'the best of all entries, or only the first one').choices([
        ...['best', 'first'],
      ]),
    )
    .option(
      '--exclude <event>',
      'an event that voids an entry: logout, between step 1 and 2, or logout[reason=x]@1-3; may be given again',
      (text, earlier: readonly ParsedExclusion[] = []) => [...earlier, parseExclusion(text)],
    )
    .addOption(
      new Option('--count <unit>', 'what is counted').choices(['users', 'attempts', 'sessions']),
    )
    .addOption(
      new Option(
        '--count-by <property>',
        'count the values of a property, across users, not users',
      ).conflicts('count'),
    )
    .option('--hold <properties>', 'a,b: must be equal through a chain', parseNames)
    .option('--sample <share>', 'ask only a share of all users, such as 0.1', parseShare)
}

/** Into what the answer is split. */
function addSplitOptions(command: Command): void {
  command
    .option('--by, --breakdown <property>', 'break down by a property')
    .addOption(
      new Option(
        '--attribution <which>',
        'the value at which event of a chain: first, last, at a step; or each value by itself',
      ).choices(['first', 'last', 'step', 'every']),
    )
    .addOption(
      new Option('--attribution-step <number>', 'by the value at this step')
        .argParser(parseCount())
        .implies({ attribution: 'step' }),
    )
    .option('--limit <count>', 'values of the breakdown to show', parseCount())
}

/** Makes a question of steps as they are typed and options. Throws INVALID_QUERY. */
export function funnelQueryOf(steps: string, options: FunnelOptions) {
  const { window, order, entry, exclude, count, countBy, hold, sample } = options
  const { trend, compare, times, from, to, timeZone, rangeBounds, freshness, source } = options
  return {
    steps: parseFunnel(steps),
    ...{ window, from, to, timeZone, rangeBounds, order, entry, exclude, hold },
    count: countBy === undefined ? count : { property: countBy },
    breakdown: breakdownOf(options),
    ...{ trend, compare, timeToConvert: times, sample, freshness, source },
  }
}

function breakdownOf({ breakdown: property, attribution, attributionStep, limit }: FunnelOptions) {
  if (property === undefined && attribution !== undefined)
    throw new AppError('INVALID_QUERY', '--attribution: only with --by')
  if (attributionStep !== undefined && attribution !== 'step')
    throw new AppError('INVALID_QUERY', '--attribution-step: only with --attribution step')
  return property && { property, attribution, step: attributionStep, limit }
}

function parseShare(text: string): number {
  const share = Number(text)
  if (share > 0 && share <= 1) return share
  throw new InvalidArgumentError('a share above 0, up to 1')
}

/** Parses what a funnel is compared with. */
export function parseCompared(text: string): NonNullable<FunnelOptions['compare']> {
  if (text === 'previous') return text
  const [, from, to] = /^(.+?)\.\.(.+)$/.exec(text) ?? []
  if (from === undefined || to === undefined)
    throw new InvalidArgumentError('previous, or a range FROM..TO')
  return { from, to }
}
