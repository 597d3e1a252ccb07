import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, inject } from 'vitest'
import { systemClock as clock } from '../../src/clock.ts'
import { openLog } from '../../src/log.ts'
import { declareMetrics } from '../../src/metrics.ts'
import { packageRoot } from '../../src/package-root.ts'
import { migrate, type MigrateOptions } from '../../src/store/migrate.ts'
import { loadMigrations } from '../../src/store/migrations.ts'
import { openSession, type SessionOptions } from '../../src/store/session.ts'
import { openStores } from '../../src/store/stores.ts'
import { failOnWarnings } from './warnings.ts'

export const silentLog = openLog('silent')
export const allMigrations = loadMigrations(join(packageRoot(), 'cql'))

export type TestKeyspace = Awaited<ReturnType<typeof openTestKeyspace>>

/** A name that no other test has. */
export function keyspaceName(): string {
  return `test_${randomBytes(8).toString('hex')}`
}

/** How to connect as one of the roles of the test database; the keyspace is to be added. */
export function connectAs(
  role: 'service' | 'migration',
  onWarning: (warning: string) => void,
): Omit<SessionOptions, 'keyspace'> {
  const { contactPoints, localDataCenter, [role]: credentials } = inject('database')
  const metrics = declareMetrics()
  return { contactPoints, localDataCenter, credentials, log: silentLog, metrics, onWarning }
}

/** Migrates a keyspace as a deployment does. `changed` stands in for parts of it. */
export async function migrateTestKeyspace(
  keyspace: string,
  onWarning: (warning: string) => void,
  changed: Partial<Pick<MigrateOptions, 'migrations' | 'clock'>> = {},
): Promise<string[]> {
  // A right that another process granted just before is told as a warning, and harmless.
  const connect = connectAs('migration', (warning) => {
    if (!warning.includes('was already granted')) onWarning(warning)
  })
  const { localDataCenter } = connect
  return await migrate({
    ...{ connect, keyspace, migrations: allMigrations, clock, log: silentLog, ...changed },
    replication: { [localDataCenter]: 1 },
    serviceRole: inject('database').service?.username,
  })
}

/** Runs statements as the role that may change the schema. */
export async function asMigrationRole(keyspace: string, ...statements: string[]): Promise<void> {
  const session = await openSession({ ...connectAs('migration', () => {}), keyspace })
  try {
    for (const statement of statements) await session.changeSchema('test', statement)
  } finally {
    await session.close()
  }
}

/** Drops a keyspace, whether or not it is there. */
export async function dropTestKeyspace(keyspace: string): Promise<void> {
  const session = await openSession(connectAs('migration', () => {}))
  try {
    await session.changeSchema('keyspace', `DROP KEYSPACE IF EXISTS ${keyspace}`)
  } finally {
    await session.close()
  }
}

/**
 * Opens a keyspace of the test file's own, migrated like a real one, with a session as the service's
 * role. Dropped at the end of the file. Any warning of the server fails the test. Call it at the top of
 * a test file.
 */
export async function openTestKeyspace() {
  const onWarning = failOnWarnings()
  const keyspace = keyspaceName()
  // Dropped even where the migration fails, and after everything else of the file is closed.
  afterAll(() => dropTestKeyspace(keyspace))
  await migrateTestKeyspace(keyspace, onWarning)
  const session = await openSession({ ...connectAs('service', onWarning), keyspace })
  afterAll(() => session.close())
  return { keyspace, session, stores: openStores(session), onWarning }
}
