import { existsSync } from 'node:fs'
import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import { AppError } from '../error.ts'
import type { Logger } from '../log.ts'
import type { Logins } from '../store/roles.ts'
import type { Credentials } from '../store/session.ts'
import { LOCAL_DATA_CENTER } from './cassandra-settings.ts'
import { loadLogins } from './credentials.ts'
import { openDockerRuntime } from './docker-runtime.ts'
import { openJarsRuntime } from './jars-runtime.ts'
import { openJars } from './jars.ts'
import { acquireLock } from './lock.ts'
import { openNode, type RunningNode, type Runtime } from './runtime.ts'
import { findDocker, findJava, findProgram, type ToolPlaces } from './tools.ts'

const WATCH_MS = 1_000

export type DatabaseConfig = Pick<
  Config,
  | 'CASSANDRA_CONTACT_POINTS'
  | 'CASSANDRA_LOCAL_DC'
  | 'CASSANDRA_USERNAME'
  | 'CASSANDRA_PASSWORD'
  | 'CASSANDRA_MIGRATION_USERNAME'
  | 'CASSANDRA_MIGRATION_PASSWORD'
  | 'CASSANDRA_RUNTIME'
  | 'CASSANDRA_PORT'
  | 'CASSANDRA_HEAP_MB'
  | 'DATA_DIR'
  | 'CACHE_DIR'
  | 'PATH'
  | 'JAVA_HOME'
>

export interface Database {
  /** host:port */
  readonly contactPoints: string[]
  readonly localDataCenter: string
  /** The role of the service; undefined for a given cluster that asks for no login. */
  readonly service: Credentials | undefined
  /** The role that may change the schema. */
  readonly migration: Credentials | undefined
  readonly runtime: 'given' | RuntimeKind
  /** Aborted when an embedded node has ended of its own accord, or somebody else ended it. */
  readonly ended: AbortSignal
  /** Stops an embedded node, and lets another service have its folder. */
  readonly close: () => Promise<void>
}

type RuntimeKind = 'jars' | 'docker'

interface DatabaseOptions {
  readonly config: DatabaseConfig
  readonly log: Logger
  readonly clock: Clock
  /** How long a node that was left running may be silent before it is replaced. */
  readonly orphanAnswerTimeoutMs?: number
}

/**
 * Returns a Cassandra to work with: the given one, else one that is started here, over DATA_DIR.
 *
 * Throws CONFLICT when a service already runs on DATA_DIR, and EMBEDDED_UNAVAILABLE when there is
 * nothing to run Cassandra with, when its port is in use, or when it does not come up.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { config } = options
  const contactPoints = config.CASSANDRA_CONTACT_POINTS
  if (contactPoints !== undefined) return givenDatabase(config, contactPoints)

  await mkdir(config.DATA_DIR, { recursive: true })
  const dataDir = await realpath(config.DATA_DIR)
  const lock = await acquireLock(join(dataDir, 'service.lock'))
  try {
    return await embeddedDatabase(options, dataDir, lock.release)
  } catch (error) {
    await lock.release()
    throw error
  }
}

function givenDatabase(config: DatabaseConfig, contactPoints: string[]): Database {
  const service = credentialsOf(config.CASSANDRA_USERNAME, config.CASSANDRA_PASSWORD)
  const migration = credentialsOf(
    config.CASSANDRA_MIGRATION_USERNAME,
    config.CASSANDRA_MIGRATION_PASSWORD,
  )
  return {
    contactPoints,
    localDataCenter: config.CASSANDRA_LOCAL_DC,
    service,
    migration: migration ?? service,
    runtime: 'given',
    ended: new AbortController().signal,
    close: async () => {},
  }
}

function credentialsOf(
  username: string | undefined,
  password: string | undefined,
): Credentials | undefined {
  return username === undefined ? undefined : { username, password: password ?? '' }
}

async function embeddedDatabase(
  { config, log, clock, ...timeouts }: DatabaseOptions,
  dataDir: string,
  releaseLock: () => Promise<void>,
): Promise<Database> {
  const { kind, open } = await chooseRuntime(config, dataDir, { log, clock })
  const folder = join(dataDir, FOLDERS[kind])
  const runtime = await open(folder)
  // Not before: a folder says which runtime its data belong to, so none may be left where jars are missing.
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const logins = await loadLogins(join(folder, 'credentials.json'))
  const node = await openNode(runtime, { logins, clock, log, ...timeouts })
  const watch = watchNode(node)
  let closing: Promise<void> | undefined
  async function close(): Promise<void> {
    watch.end()
    log.info({ node: node.name }, 'stopping Cassandra')
    await node.stop()
    await releaseLock()
  }
  return {
    contactPoints: [`127.0.0.1:${node.nativePort}`],
    localDataCenter: LOCAL_DATA_CENTER,
    ...logins,
    runtime: kind,
    ended: watch.ended,
    close: () => (closing ??= close()),
  }
}

function watchNode(node: RunningNode) {
  const ended = new AbortController()
  const timer = setInterval(() => {
    void node.isAlive().then((isAlive) => {
      if (!isAlive) ended.abort()
    })
  }, WATCH_MS)
  timer.unref()
  return { ended: ended.signal, end: () => clearInterval(timer) }
}

/** Returns the logins of the embedded node of a data folder that has been started before. */
export async function keptLogins(dataDir: string): Promise<Logins> {
  const kind = existsSync(join(dataDir, FOLDERS.jars)) ? 'jars' : 'docker'
  return await loadLogins(join(dataDir, FOLDERS[kind], 'credentials.json'))
}

/** Data stay with the runtime that wrote them: neither can read the other's folder. */
const FOLDERS: Readonly<Record<RuntimeKind, string>> = {
  jars: 'cassandra',
  docker: 'cassandra-docker',
}

interface RuntimeChoice {
  readonly kind: RuntimeKind
  readonly open: (folder: string) => Promise<Runtime>
}

async function chooseRuntime(
  config: DatabaseConfig,
  dataDir: string,
  tools: { readonly log: Logger; readonly clock: Clock },
): Promise<RuntimeChoice> {
  const kept = (['jars', 'docker'] as const).find((kind) =>
    existsSync(join(dataDir, FOLDERS[kind])),
  )
  const asked = config.CASSANDRA_RUNTIME === 'auto' ? kept : config.CASSANDRA_RUNTIME
  const missing: string[] = []
  for (const choose of asked === undefined ? [chooseJars, chooseDocker] : [CHOICES[asked]]) {
    const choice = await choose(config, tools)
    if (typeof choice !== 'string') return choice
    missing.push(choice)
  }
  const remedies = { jars: [INSTALL_JARS], docker: ['start Docker'] }
  const remedy = asked === undefined ? [INSTALL_JARS, 'install Docker'] : remedies[asked]
  throw new AppError(
    'EMBEDDED_UNAVAILABLE',
    `there is no way to run Cassandra here (${missing.join('; ')}): ` +
      `${[...remedy, 'set CASSANDRA_CONTACT_POINTS to a running Cassandra'].join(', or ')}`,
  )
}

const INSTALL_JARS = 'install Java 17 and Maven (apt-get install openjdk-17-jre-headless maven)'

/** Returns how to run the jars, or what is missing for it. */
async function chooseJars(
  config: DatabaseConfig,
  { log, clock }: { readonly log: Logger; readonly clock: Clock },
): Promise<RuntimeChoice | string> {
  const java = await findJava(placesOf(config))
  const jars = await openJars(config.CACHE_DIR)
  const mavenPath = await findProgram('mvn', config.PATH)
  const { path: javaPath, others } = java
  if (javaPath === null)
    return others.length === 0 ? 'no Java 17' : `no Java 17, only ${others.join(', ')}`
  if (mavenPath === null && !jars.areFetched()) return 'no Maven'
  return {
    kind: 'jars',
    async open(folder) {
      if (!jars.areFetched()) await jars.fetch(mavenPath!, log)
      const settings = settingsOf(config)
      return openJarsRuntime({ folder, javaPath, lib: jars.lib, settings, clock, log })
    },
  }
}

/** Returns how to run a container, or what is missing for it. */
async function chooseDocker(config: DatabaseConfig): Promise<RuntimeChoice | string> {
  const dockerPath = await findDocker(placesOf(config))
  if (dockerPath === null) return 'no Docker engine that answers'
  return {
    kind: 'docker',
    open: async (folder) => openDockerRuntime({ folder, dockerPath, settings: settingsOf(config) }),
  }
}

const CHOICES = { jars: chooseJars, docker: chooseDocker }

function placesOf({ PATH, JAVA_HOME }: DatabaseConfig): ToolPlaces {
  return { searchPath: PATH, javaHome: JAVA_HOME }
}

function settingsOf({ CASSANDRA_PORT, CASSANDRA_HEAP_MB }: DatabaseConfig) {
  return { port: CASSANDRA_PORT, heapMb: CASSANDRA_HEAP_MB }
}
