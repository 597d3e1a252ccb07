import { InvalidArgumentError, Option, type Command } from 'commander'
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { systemClock as clock } from '../clock.ts'
import { timeZone as TimeZone } from '../wire/time-zone.ts'
import { EVENTS_PER_REQUEST_MAX } from '../wire/event-batch.ts'
import { EXIT, type CommandContext } from './context.ts'
import { assertReachable, requestUntilTaken, type Target } from './http-client.ts'
import { batchesOf } from './import/batches.ts'
import { examineContent, type Content } from './import/content.ts'
import { parseMapping, type Mapping } from './import/mapping.ts'
import { openProgress } from './import/progress.ts'
import { NOTHING_YET, runImport, type ImportResult } from './import/run.ts'
import { formatOf, openSource, type Format } from './import/source.ts'
import { openImportFiles } from './import/state.ts'
import { parseCount } from './parse-count.ts'
import { printable } from './printable.ts'
import { addTargetOptions, type TargetOptions } from './target-options.ts'
import { resolveTarget } from './target.ts'

const CONCURRENCY_MAX = 64

const Outcome = z.object({
  rejected: z.array(z.object({ index: z.number(), code: z.string(), message: z.string() })),
})

interface ImportOptions extends TargetOptions {
  readonly map?: Mapping
  readonly event?: string
  readonly timeZone: string
  readonly format?: Format
  readonly delimiter?: string
  readonly batch: number
  readonly concurrency: number
  readonly json?: boolean
}

export function registerImport(program: Command, context: CommandContext): void {
  const command = program
    .command('import')
    .description(
      'send the events of a CSV or NDJSON file, also gzipped; again or further, if need be',
    )
    .argument('<file>', 'CSV with a header line, or a JSON object a line')
    .option(
      '--map <pairs>',
      'which field is what: user=…,anonymous=…,event=…,time=…,session=…,id=…; others become properties',
      parseMapping,
    )
    .option('--event <name>', 'the event name, where the file has none')
    .option('--time-zone <zone>', 'meant by times that name none', parseTimeZone, 'UTC')
    .addOption(
      new Option('--format <format>', 'told by name and content').choices(['csv', 'ndjson']),
    )
    .option('--delimiter <sign>', 'of CSV: a comma, in .tsv a tab', parseDelimiter)
    .option('--batch <count>', 'events a request', parseCount(EVENTS_PER_REQUEST_MAX), 500)
    .option('--concurrency <count>', 'requests at a time', parseCount(CONCURRENCY_MAX), 4)
  addTargetOptions(command, 'write')
    .option('--json', 'print the summary as JSON')
    .action((file: string, options: ImportOptions) => importFile(context, file, options))
}

async function importFile(context: CommandContext, file: string, options: ImportOptions) {
  const stop = context.interruption()
  const config = context.loadConfig()
  const startedMs = clock.monotonicMs()
  try {
    const target = await resolveTarget(config, options, 'write')
    await assertReachable(target)
    const content = await examineContent(file, stop)
    const source = await openSource(content, sourceOptions(content, options))
    const files = await openImportFiles(config.DATA_DIR, identityOf(content, target, options))
    const start = files.earlier ?? NOTHING_YET
    if (files.earlier !== null)
      context.printError(
        `an earlier import of this file was cut off: going on at line ${start.nextLine}`,
      )

    const { lineCount } = content
    const progress = openProgress(context, clock, { start, lineCount })
    const { batch: countMax, concurrency, json = false } = options
    const batches = batchesOf(source.records, source.make, { fromLine: start.nextLine, countMax })
    const send = async (events: readonly string[], signal: AbortSignal) => {
      const body = `{"events":[${events.join(',')}]}`
      const { note } = progress
      return Outcome.parse(await requestUntilTaken(target, '/v1/events', body, { signal, note }))
    }
    const onAdvance = progress.show
    const run = { files, clock, concurrency, onAdvance, stop }
    const result = await runImport(batches, send, run).finally(progress.close)
    const seconds = (clock.monotonicMs() - startedMs) / 1_000
    const accepted = result.state.accepted - start.accepted
    const { refusedPath } = files
    report(context, { file, ...result, accepted, seconds, refusedPath }, json)
  } catch (error) {
    if (!stop.aborted) throw error
    context.printError('interrupted')
    context.exitWith(EXIT.interrupted)
  }
}

function sourceOptions(
  content: Content,
  { map = {}, event, timeZone, format, delimiter }: ImportOptions,
) {
  return {
    mapping: map,
    eventName: event,
    timeZone,
    contentHash: content.hash,
    format: format ?? formatOf(content),
    delimiter: delimiter ?? (/\.tsv(\.gz)?$/i.test(content.path) ? '\t' : ','),
  }
}

// All that decides which events are sent where. What only decides how does not belong here.
function identityOf(content: Content, target: Target, options: ImportOptions): string[] {
  const { contentHash, ...rest } = sourceOptions(content, options)
  const project = target.projectId ?? createHash('sha256').update(target.key).digest('hex')
  return [contentHash.toString('hex'), project, JSON.stringify(rest)]
}

interface Report extends ImportResult {
  readonly file: string
  /** Of this run. */
  readonly accepted: number
  readonly seconds: number
  readonly refusedPath: string
}

function report(context: CommandContext, done: Report, isJson: boolean): void {
  const { file, state, accepted, seconds, refused, refusedPath } = done
  const eventsPerSecond = Math.round(accepted / seconds)
  const kept = state.refused === 0 ? null : refusedPath
  if (isJson) {
    const { nextLine, isDone, ...counts } = state
    const totals = { read: counts.read, accepted: counts.accepted, refused: counts.refused }
    const summary = { file, isDone, ...totals, seconds, eventsPerSecond, nextLine }
    context.print(JSON.stringify({ ...summary, refusedFile: kept, refusedLines: refused }))
  } else {
    context.print(summaryText(done, eventsPerSecond))
  }
  if (!state.isDone) {
    context.printError(`interrupted at line ${state.nextLine}: the same command goes on from there`)
    context.exitWith(EXIT.interrupted)
  } else if (state.refused > 0) {
    context.exitWith(EXIT.someRefused)
  }
}

function summaryText({ state, seconds, refused, refusedPath }: Report, eventsPerSecond: number) {
  const { read, accepted, refused: refusedCount } = state
  const lines = [
    `read ${read}, accepted ${accepted}, refused ${refusedCount}; ` +
      `${seconds.toFixed(1)} s, ${eventsPerSecond} events/s`,
  ]
  for (const { line, code, reason } of refused)
    lines.push(`  line ${line}: ${code}: ${printable(reason)}`)
  if (refusedCount > 0) lines.push(`all refused lines: ${refusedPath}`)
  return lines.join('\n')
}

function parseTimeZone(text: string): string {
  if (TimeZone.safeParse(text).success) return text
  throw new InvalidArgumentError('an IANA time zone, such as Europe/Berlin')
}

function parseDelimiter(text: string): string {
  const sign = text === '\\t' || text === 'tab' ? '\t' : text
  if (/^[\t !#-~]$/.test(sign)) return sign
  throw new InvalidArgumentError('one ASCII character, or tab')
}
