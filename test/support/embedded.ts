import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../../src/config.ts'
import type { Database, DatabaseConfig } from '../../src/embedded/database.ts'
import { openLog } from '../../src/log.ts'
import { declareMetrics } from '../../src/metrics.ts'
import { openSession, type Credentials, type Session } from '../../src/store/session.ts'

export const silentLog = openLog('silent')

/** The configuration of an embedded Cassandra from its jars, on any free port. */
export function embeddedConfig(dataDir: string): DatabaseConfig {
  return {
    ...loadConfig(),
    CASSANDRA_CONTACT_POINTS: undefined,
    CASSANDRA_RUNTIME: 'jars',
    CASSANDRA_PORT: 0,
    DATA_DIR: dataDir,
  }
}

export type Node = Pick<Database, 'contactPoints' | 'localDataCenter' | 'service' | 'migration'>

/** Does some work in a session of its own. */
export async function inSession<T>(
  { contactPoints, localDataCenter }: Node,
  credentials: Credentials | undefined,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const session = await openSession({
    ...{ contactPoints, localDataCenter, credentials },
    ...{ log: silentLog, metrics: declareMetrics() },
  })
  try {
    return await work(session)
  } finally {
    await session.close()
  }
}

export function statement(cql: string) {
  return { table: 'notes', operation: 'test', cql }
}

/** Runs statements as the role that may change the schema. */
export function asMigration(node: Node, ...statements: string[]): Promise<void> {
  return inSession(node, node.migration, async (session) => {
    for (const cql of statements) await session.changeSchema('notes', cql)
  })
}

/** Runs one statement as the service; returns its rows. */
export function asService(node: Node, cql: string, values: unknown[] = []) {
  return inSession(node, node.service, (session) => session.execute(statement(cql), values))
}

/** Returns the process of the node that runs on a folder, as noted there. */
export async function nodePid(dataDir: string): Promise<number> {
  const noted = await readFile(join(dataDir, 'cassandra', 'node.json'), 'utf8')
  return (JSON.parse(noted) as { pid: number }).pid
}

export interface ServiceProcess {
  readonly node: Node
  /** Kills the service with SIGKILL; returns when it is gone. */
  readonly kill: () => Promise<void>
}

/** Starts a process that opens the embedded database on a folder and then waits to be killed. */
export async function startServiceProcess(dataDir: string): Promise<ServiceProcess> {
  const script = join(
    dirname(fileURLToPath(import.meta.url)),
    '..',
    'embedded',
    'service-process.ts',
  )
  const child = spawn(process.execPath, ['--import', 'tsx', script, dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const firstLine = once(createInterface(child.stdout), 'line') as Promise<[string]>
  const line = await Promise.race([
    firstLine.then(([text]) => text),
    exited.then(() => Promise.reject(new Error('the service process ended'))),
  ])
  return {
    node: JSON.parse(line) as Node,
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}
