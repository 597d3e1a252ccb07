import type { Command } from 'commander'
import { z } from 'zod'
import { systemClock as clock } from '../clock.ts'
import type { Config } from '../config.ts'
import { openDatabase } from '../embedded/database.ts'
import { openLog, type Logger } from '../log.ts'
import type { CommandContext } from './context.ts'
import { fillDemo, findDemo, type DemoProject } from './demo.ts'
import { greeting, type ShownProject } from './greeting.ts'
import { requestJson } from './http-client.ts'
import { loadKeyRing, saveKeyRing } from './key-ring.ts'
import { migrateKeyspace } from './migrate-keyspace.ts'
import { runService, type RunningService } from './run-service.ts'

export function registerStart(program: Command, context: CommandContext): void {
  program
    .command('start')
    .description(
      'run everything: Cassandra if none is given, migrations, a first project and a demo, the service',
    )
    .option('--no-demo', 'without the demo project, which is made and filled once')
    .option('--json', 'print the address and keys as JSON')
    .action(async (options: { json?: boolean; demo: boolean }) => {
      const config = context.loadConfig()
      const log = openLog(config.LOG_LEVEL)
      const stopping = context.interruption()
      const database = await openDatabase({ config, log, clock })
      let filling = Promise.resolve()
      try {
        await migrateKeyspace(config, database, log)
        await runService(config, database, { log, stopping }, async (service) => {
          const first = await firstProject(config, service)
          const isDemoWanted = options.demo && config.DEMO === 'on'
          const demo = isDemoWanted ? await findDemo(config, service).catch(noDemo(log)) : null
          const adminKey = service.isAdminKeyNew ? { adminKey: service.adminKey } : {}
          const shown = { url: service.url, ...adminKey, ...first, demo }
          const text = () => greeting(config, service, { first, demo })
          context.print(options.json ? JSON.stringify(shown) : text())
          if (demo === null || demo.isFilled) return
          const signal = AbortSignal.any([stopping, database.ended])
          filling = fill(context, log, { config, service, demo, signal })
        })
      } finally {
        await filling
        await database.close()
      }
    })
}

/** Never rejects: the service does well without a demo. */
async function fill(
  context: CommandContext,
  log: Logger,
  { config, service, demo, signal }: Filling,
): Promise<void> {
  const startedMs = clock.monotonicMs()
  try {
    const options = { signal, note: (text: string) => log.info(text) }
    const count = await fillDemo(config, service, demo, options)
    const seconds = ((clock.monotonicMs() - startedMs) / 1_000).toFixed(1)
    context.printError(`the demo shop is filled: ${count} events in ${seconds} s`)
  } catch (error) {
    if (!signal.aborted) noDemo(log)(error)
  }
}

function noDemo(log: Logger): (error: unknown) => null {
  return (error) => {
    log.warn({ err: error }, 'the demo shop is not filled')
    return null
  }
}

interface Filling {
  readonly config: Config
  readonly service: RunningService
  readonly demo: DemoProject
  readonly signal: AbortSignal
}

const Listed = z.object({ projects: z.array(z.object({ id: z.string() })) })
const FirstProject = z.object({ id: z.string(), writeKey: z.string(), readKey: z.string() })

/**
 * Makes an empty project where there is none at all. Returns it, also at later starts, as long as it is
 * there and its keys are kept here.
 */
async function firstProject(
  { DATA_DIR }: Config,
  { url, adminKey }: RunningService,
): Promise<ShownProject | null> {
  const admin = { url, key: adminKey, headers: { authorization: `Bearer ${adminKey}` } }
  const { projects } = Listed.parse(await requestJson(admin, '/v1/projects'))
  const ring = await loadKeyRing(DATA_DIR)
  const kept = projects.find(({ id }) => id === ring.firstProject)
  const { writeKey, readKey } = (kept && ring.projects[kept.id]) ?? {}
  if (kept && writeKey && readKey) return { id: kept.id, writeKey, readKey }
  if (projects.length > 0) return null

  const name = 'My first project'
  const made = FirstProject.parse(await requestJson(admin, '/v1/projects', { name }))
  const keys = { name, writeKey: made.writeKey, readKey: made.readKey }
  await saveKeyRing(DATA_DIR, {
    firstProject: made.id,
    projects: { ...ring.projects, [made.id]: keys },
  })
  return made
}
