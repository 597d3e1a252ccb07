import type { Command } from 'commander'
import { systemClock as clock } from '../clock.ts'
import type { Config } from '../config.ts'
import { openDatabase } from '../embedded/database.ts'
import { openLog } from '../log.ts'
import type { CommandContext } from './context.ts'
import { loadKeyRing, saveKeyRing } from './key-ring.ts'
import { migrateKeyspace } from './migrate-keyspace.ts'
import { runService, stopSignal, type RunningService } from './run-service.ts'

export function registerStart(program: Command, context: CommandContext): void {
  program
    .command('start')
    .description(
      'run everything: Cassandra if none is given, migrations, a first project, the service',
    )
    .option('--json', 'print the address and keys as JSON')
    .action(async ({ json: isJson = false }: { json?: boolean }) => {
      const config = context.loadConfig()
      const log = openLog(config.LOG_LEVEL)
      const stopping = stopSignal()
      const database = await openDatabase({ config, log, clock })
      try {
        await migrateKeyspace(config, database, log)
        await runService(config, database, { log, stopping }, async (service) => {
          const first = await firstProject(config, service)
          const shown = { url: service.url, ...first }
          context.print(isJson ? JSON.stringify(shown) : greeting(service, first))
        })
      } finally {
        await database.close()
      }
    })
}

interface FirstProject {
  readonly projectId: string
  readonly writeKey: string
  readonly readKey: string
}

/** Makes an empty project at the first start, and returns it at every one that still keeps its keys. */
async function firstProject(
  { DATA_DIR }: Config,
  { url, adminKey }: RunningService,
): Promise<FirstProject | null> {
  const ring = await loadKeyRing(DATA_DIR)
  const known = ring.firstProject === undefined ? undefined : ring.projects[ring.firstProject]
  if (known?.writeKey !== undefined && known.readKey !== undefined)
    return { projectId: ring.firstProject!, writeKey: known.writeKey, readKey: known.readKey }
  if (ring.firstProject !== undefined) return null

  const name = 'My first project'
  const response = await fetch(`${url}/v1/projects`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}` },
    body: JSON.stringify({ name }),
  })
  if (response.status !== 201) throw new Error(`no first project: ${await response.text()}`)
  const { id, writeKey, readKey } = (await response.json()) as Record<string, string>
  const made = { projectId: id!, writeKey: writeKey!, readKey: readKey! }
  const kept = { name, writeKey: made.writeKey, readKey: made.readKey }
  await saveKeyRing(DATA_DIR, {
    firstProject: made.projectId,
    projects: { ...ring.projects, [made.projectId]: kept },
  })
  return made
}

function greeting({ url, adminKey, isAdminKeyNew }: RunningService, first: FirstProject | null) {
  const time = new Date(clock.nowMs()).toISOString()
  const events = JSON.stringify([
    { id: 'e-1', event: 'page_view', userId: 4711, time, properties: { path: '/pricing' } },
    { id: 'e-2', event: 'sign_up', userId: 4711, time },
  ])
  const funnel = JSON.stringify({ steps: [{ event: 'page_view' }, { event: 'sign_up' }] })
  const lines = ['', `Thousandfold listens on ${url}  (the API: ${url}/docs)`, '']
  if (isAdminKeyNew) lines.push(`  admin key (shown once)  ${adminKey}`)
  if (first === null) return lines.join('\n')
  const { projectId, writeKey, readKey } = first
  return [
    ...lines,
    `  first project           ${projectId}`,
    `  write key               ${writeKey}`,
    `  read key                ${readKey}`,
    '',
    'Send two events:',
    '',
    `  curl -X POST ${url}/v1/events -H 'Authorization: Bearer ${writeKey}' -d '${events}'`,
    '',
    'Ask who went from the one to the other:',
    '',
    `  curl -X POST ${url}/v1/funnels -H 'Authorization: Bearer ${readKey}' -d '${funnel}'`,
    '',
  ].join('\n')
}
