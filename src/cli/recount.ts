import type { Command } from 'commander'
import { systemClock as clock } from '../clock.ts'
import { AppError } from '../error.ts'
import { DAY_MS } from '../event/day.ts'
import { openLog } from '../log.ts'
import { declareMetrics } from '../metrics.ts'
import { resolveRange } from '../query/range.ts'
import { openSession } from '../store/session.ts'
import { openStores } from '../store/stores.ts'
import { agrees, recount, type Recount } from '../upkeep/recount.ts'
import { EXIT, type CommandContext } from './context.ts'
import { loadKeyRing } from './key-ring.ts'
import { reachDatabase } from './reach-database.ts'
import { table } from './table.ts'
import { findProject } from './target.ts'

interface RecountOptions {
  readonly project?: string
  readonly from?: string
  readonly to?: string
  readonly event?: string
  readonly json?: boolean
}

export function registerRecount(program: Command, context: CommandContext): void {
  program
    .command('recount')
    .description('count the raw rows, by UTC day and name, and compare with the segments')
    .option('--project <id>', 'by id, or by name if kept here; the first project by default')
    .option('--event <name>', 'of this name only')
    .option('--from <moment>', 'a UTC date, or ISO 8601 with a zone (default: 30 days before --to)')
    .option('--to <moment>', 'the same; not included (default: now)')
    .option('--json', 'print each count as a line of JSON')
    .action(async (options: RecountOptions) => {
      const counts: Recount[] = []
      await forEachMonth(context, options, (month) => {
        counts.push(...month)
        for (const count of options.json ? month : [])
          context.print(JSON.stringify({ ...count, day: dateOf(count), agrees: agrees(count) }))
      })
      const differing = counts.filter((count) => !agrees(count))
      if (!options.json) context.print(drawn(counts, differing.length))
      if (differing.length === 0) return
      context.printError(remedy(differing))
      context.exitWith(EXIT.failed)
    })
}

async function forEachMonth(
  context: CommandContext,
  options: RecountOptions,
  take: (month: readonly Recount[]) => void,
): Promise<void> {
  const nowMs = clock.nowMs()
  const range = resolveRange(options, { timeZone: 'UTC', nowMs })
  const config = context.loadConfig()
  const projectId = findProject(await loadKeyRing(config.DATA_DIR), options.project)
  const log = openLog(config.LOG_LEVEL)
  const database = await reachDatabase(config, log)
  try {
    const { contactPoints, localDataCenter, service: credentials } = database
    const session = await openSession({
      ...{ contactPoints, localDataCenter, credentials, log, metrics: declareMetrics() },
      keyspace: config.CASSANDRA_KEYSPACE,
    })
    try {
      const stores = openStores(session)
      const project = await stores.projects.read(projectId)
      if (project === null) throw new AppError('NOT_FOUND', `no such project: ${projectId}`)
      const asked = { project, range, event: options.event ?? null, nowMs }
      for await (const month of recount(stores, asked)) take(month)
    } finally {
      await session.close()
    }
  } finally {
    await database.close()
  }
}

function drawn(counts: readonly Recount[], differingCount: number): string {
  const rows = counts.map((count) => [
    ...[dateOf(count), count.event, count.stored, count.erased, count.sealed],
    agrees(count) ? 'yes' : 'NO',
  ])
  const stored = counts.reduce((sum, count) => sum + count.stored, 0)
  const verdict = differingCount === 0 ? 'all agree' : `${differingCount} differ`
  const header = ['day', 'event', 'rows', 'erased', 'segments', 'agree']
  return `${table(header, rows)}\n\n${stored} events in rows; ${verdict}`
}

function remedy(differing: readonly Recount[]): string {
  const fresh = differing.reduce((sum, count) => sum + count.fresh, 0)
  if (fresh === 0) return 'rows and segments differ, and nothing newer waits to be sealed'
  return `${fresh} events wait to be sealed: \`npx thousandfold seal --once\`, then recount again`
}

function dateOf({ day }: Recount): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}
