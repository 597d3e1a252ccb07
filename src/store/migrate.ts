import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import type { Logger } from '../log.ts'
import type { Migration } from './migrations.ts'
import { liveTable } from './schema.ts'
import { openSession, type Session, type SessionOptions, type Statement } from './session.ts'

/** Longer than any one statement may take: the lock is renewed between them. */
const LOCK_TTL_S = 300
const LOCK_RETRY_MS = 250
const LOCK_WAIT_MS = 400_000

const APPLIED: Statement = {
  table: 'schema_migrations',
  operation: 'applied',
  cql: `SELECT version, name, checksum, table_schema FROM schema_migrations
    WHERE scope = 'keyspace'`,
}
const HISTORY: Statement = {
  table: 'system_schema.tables',
  operation: 'find',
  cql: `SELECT table_name FROM system_schema.tables
    WHERE keyspace_name = ? AND table_name = 'schema_migrations'`,
}
const RECORD: Statement = {
  table: 'schema_migrations',
  operation: 'record',
  cql: `INSERT INTO schema_migrations (scope, version, name, checksum, applied_at, table_schema)
    VALUES ('keyspace', ?, ?, ?, ?, ?)`,
}
const RIGHTS: Statement = {
  table: 'system_auth.role_permissions',
  operation: 'read',
  cql: 'SELECT permissions FROM system_auth.role_permissions WHERE role = ? AND resource = ?',
}
const LOCK: Statement = {
  table: 'schema_migrations',
  operation: 'lock',
  cql: `UPDATE schema_migrations USING TTL ${LOCK_TTL_S} SET lock_holder = ?
    WHERE scope = 'keyspace' IF lock_holder = ?`,
}
const UNLOCK: Statement = {
  table: 'schema_migrations',
  operation: 'unlock',
  cql: `UPDATE schema_migrations SET lock_holder = null WHERE scope = 'keyspace' IF lock_holder = ?`,
}

export interface AppliedMigration {
  readonly version: number
  readonly name: string
  readonly checksum: string
  /** The table as it was right after, by `liveTable`. */
  readonly tableSchema: string
}

export interface MigrateOptions {
  /** Connects as a role that may change the schema. */
  readonly connect: Omit<SessionOptions, 'keyspace'>
  readonly keyspace: string
  /** Replicas by data centre, for a keyspace that does not exist yet. */
  readonly replication: Readonly<Record<string, number>>
  /** Gets the right to read and write the keyspace, and no more. */
  readonly serviceRole: string | undefined
  readonly migrations: readonly Migration[]
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Brings the keyspace up to the newest migration; returns the names of those that were applied. Safe to
 * run at once in several processes, and again after it was killed anywhere.
 *
 * Throws SCHEMA_OUTDATED when an applied migration's file has changed since, or is missing here.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  await createKeyspace(options)
  const { connect, keyspace, migrations, clock } = options
  const session = await openSession({ ...connect, keyspace })
  try {
    const [bootstrap] = migrations
    for (const statement of bootstrap?.statements ?? [])
      await session.changeSchema(
        'schema_migrations',
        `${statement} AND ID = ${bootstrapTableId(keyspace)}`,
      )
    if (pendingMigrations(migrations, await appliedMigrations(session)).length === 0) return []
    return await withLock(session, clock, (renew) => applyPending(session, options, renew))
  } finally {
    await session.close()
  }
}

/**
 * Returns the same id in every process, so that several can create the table at once, before there is a
 * lock, and mean the same one; and another id in each keyspace, since a cluster takes an id only once.
 */
function bootstrapTableId(keyspace: string): string {
  const digits = createHash('sha256').update(`${keyspace}.schema_migrations`).digest('hex')
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5')
}

async function applyPending(session: Session, options: MigrateOptions, renew: () => Promise<void>) {
  const { migrations, keyspace, clock, log } = options
  const names: string[] = []
  for (const migration of pendingMigrations(migrations, await appliedMigrations(session))) {
    await renew()
    const { version, name, table, checksum } = migration
    log.info({ migration: name }, 'applying a migration')
    for (const statement of migration.statements) await session.changeSchema(table, statement)
    const schema = await liveTable(session, keyspace, table)
    await session.execute(RECORD, [version, name, checksum, clock.nowMs(), schema])
    names.push(name)
  }
  return names
}

/** Returns the migrations that a keyspace has seen, in order; none when it has never been migrated. */
export async function appliedMigrations(session: Session): Promise<AppliedMigration[]> {
  const [table] = await session.execute(HISTORY, [session.keyspace])
  if (table === undefined) return []
  const rows = await session.all(APPLIED, [])
  return rows
    .filter((row) => row['version'] !== null)
    .map((row) => ({
      version: row['version'] as number,
      name: row['name'] as string,
      checksum: row['checksum'] as string,
      tableSchema: row['table_schema'] as string,
    }))
}

/** Returns what is still to be applied. Throws SCHEMA_OUTDATED where history and files disagree. */
export function pendingMigrations(
  migrations: readonly Migration[],
  applied: readonly AppliedMigration[],
): Migration[] {
  const byVersion = new Map(migrations.map((migration) => [migration.version, migration]))
  for (const { version, name, checksum } of applied) {
    const migration = byVersion.get(version)
    if (migration === undefined)
      throw new AppError(
        'SCHEMA_OUTDATED',
        `the keyspace has seen ${name}, which this version does not know: it is older than the schema`,
      )
    if (migration.checksum !== checksum)
      throw new AppError(
        'SCHEMA_OUTDATED',
        `cql/${name}.cql has changed since it was applied: migrations are forward only`,
      )
    byVersion.delete(version)
  }
  return [...byVersion.values()]
}

async function createKeyspace({
  connect,
  keyspace,
  replication,
  serviceRole,
  log,
}: MigrateOptions) {
  const session = await openSession(connect)
  try {
    const replicas = Object.entries(replication).map(([dc, count]) => `'${dc}': ${count}`)
    await session.changeSchema(
      'keyspace',
      `CREATE KEYSPACE IF NOT EXISTS ${keyspace} WITH replication =
        {'class': 'NetworkTopologyStrategy', ${replicas.join(', ')}}`,
    )
    if (serviceRole !== undefined && serviceRole !== connect.credentials?.username)
      await grantRights(session, { keyspace, role: serviceRole, log })
  } finally {
    await session.close()
  }
}

async function grantRights(
  session: Session,
  { keyspace, role, log }: { keyspace: string; role: string; log: Logger },
): Promise<void> {
  const [row] = await session.execute(RIGHTS, [role, `data/${keyspace}`])
  const held = new Set((row?.['permissions'] as string[] | null) ?? [])
  const quoted = `"${role.replaceAll('"', '""')}"`
  for (const right of ['SELECT', 'MODIFY'].filter((one) => !held.has(one)))
    await session
      .changeSchema('keyspace', `GRANT ${right} ON KEYSPACE ${keyspace} TO ${quoted}`)
      .catch((error: unknown) => {
        // A cluster without an authorizer lets every role do everything.
        if (!String(error).includes('AllowAllAuthorizer')) throw error
        log.warn('the cluster has no authorizer: the service could change the schema')
      })
}

async function withLock<T>(
  session: Session,
  clock: Clock,
  work: (renew: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const holder = randomUUID()
  const giveUpAtMs = clock.monotonicMs() + LOCK_WAIT_MS
  while (!(await session.compareAndSet(LOCK, [holder, null]))) {
    if (clock.monotonicMs() > giveUpAtMs)
      throw new AppError('CONFLICT', 'another migration holds the lock of this keyspace')
    await sleep(LOCK_RETRY_MS)
  }
  try {
    return await work(async () => {
      if (!(await session.compareAndSet(LOCK, [holder, holder])))
        throw new AppError('CONFLICT', 'the lock was lost while migrating: run it again')
    })
  } finally {
    await session.compareAndSet(UNLOCK, [holder])
  }
}
