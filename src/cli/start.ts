import type { Command } from 'commander'
import { z } from 'zod'
import { systemClock as clock } from '../clock.ts'
import type { Config } from '../config.ts'
import { openDatabase } from '../embedded/database.ts'
import { openLog } from '../log.ts'
import type { CommandContext } from './context.ts'
import { requestJson } from './http-client.ts'
import { loadKeyRing, saveKeyRing } from './key-ring.ts'
import { migrateKeyspace } from './migrate-keyspace.ts'
import { runService, type RunningService } from './run-service.ts'

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
      const stopping = context.interruption()
      const database = await openDatabase({ config, log, clock })
      try {
        await migrateKeyspace(config, database, log)
        await runService(config, database, { log, stopping }, async (service) => {
          const first = await firstProject(config, service)
          const adminKey = service.isAdminKeyNew ? { adminKey: service.adminKey } : {}
          const shown = { url: service.url, ...adminKey, ...first }
          context.print(isJson ? JSON.stringify(shown) : greeting(config, service, first))
        })
      } finally {
        await database.close()
      }
    })
}

const Listed = z.object({ projects: z.array(z.object({ id: z.string() })) })
const FirstProject = z.object({ id: z.string(), writeKey: z.string(), readKey: z.string() })
type FirstProject = z.output<typeof FirstProject>

/**
 * Makes an empty project where there is none at all. Returns it, also at later starts, as long as it is
 * there and its keys are kept here.
 */
async function firstProject(
  { DATA_DIR }: Config,
  { url, adminKey }: RunningService,
): Promise<FirstProject | null> {
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

function greeting(
  { ADMIN_KEY, DATA_DIR }: Config,
  { url, adminKey, isAdminKeyNew }: RunningService,
  first: FirstProject | null,
): string {
  const time = new Date(clock.nowMs()).toISOString()
  const events = JSON.stringify([
    { id: 'e-1', event: 'page_view', userId: 4711, time, properties: { path: '/pricing' } },
    { id: 'e-2', event: 'sign_up', userId: 4711, time },
  ])
  const funnel = JSON.stringify({
    steps: [{ event: 'page_view' }, { event: 'sign_up' }],
    freshness: 'now',
  })
  const lines = ['', `Thousandfold listens on ${url}  (the API: ${url}/docs)`, '']
  if (isAdminKeyNew) lines.push(`  admin key (shown once)  ${adminKey}`)
  else if (ADMIN_KEY === undefined) lines.push(`  admin key               in ${DATA_DIR}/admin-key`)
  if (first === null) return lines.join('\n')
  const { id, writeKey, readKey } = first
  return [
    ...lines,
    `  first project           ${id}`,
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
