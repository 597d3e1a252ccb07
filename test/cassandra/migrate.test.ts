import { createHash } from 'node:crypto'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { appliedMigrations } from '../../src/store/migrate.ts'
import type { Migration } from '../../src/store/migrations.ts'
import { openReadiness } from '../../src/store/readiness.ts'
import { schemaDrift } from '../../src/store/schema.ts'
import { openSession, type Session } from '../../src/store/session.ts'
import {
  allMigrations,
  asMigrationRole,
  connectAs,
  dropTestKeyspace,
  keyspaceName,
  migrateTestKeyspace,
} from '../support/keyspace.ts'
import { failOnWarnings } from '../support/warnings.ts'

const onWarning = failOnWarnings()
const made: string[] = []
afterAll(async () => {
  for (const keyspace of made) await dropTestKeyspace(keyspace)
})

const names = allMigrations.map(({ name }) => name)

function newKeyspace(): string {
  const keyspace = keyspaceName()
  made.push(keyspace)
  return keyspace
}

const migrateTo = (keyspace: string, migrations: readonly Migration[] = allMigrations) =>
  migrateTestKeyspace(keyspace, onWarning, { migrations })

async function asService<T>(keyspace: string, work: (session: Session) => Promise<T>): Promise<T> {
  const session = await openSession({ ...connectAs('service', onWarning), keyspace })
  try {
    return await work(session)
  } finally {
    await session.close()
  }
}

async function expectNewest(keyspace: string): Promise<void> {
  await asService(keyspace, async (session) => {
    expect(await openReadiness(session)()).toEqual([])
    expect(await schemaDrift(session, keyspace)).toEqual([])
    const applied = await appliedMigrations(session)
    expect(applied.map(({ name }) => name)).toEqual(names)
  })
}

/** A migration of a test's own, far behind the real ones. */
function aMigration(part: Partial<Migration>): Migration {
  const statements = part.statements ?? []
  const checksum = createHash('sha256').update(statements.join(';')).digest('hex')
  return { version: 9_000, name: '9000_extra', table: 'extra', checksum, ...part, statements }
}

describe('a keyspace is brought to the newest version', () => {
  test('from nothing; a second time changes nothing', async () => {
    const keyspace = newKeyspace()
    expect(await migrateTo(keyspace)).toEqual(names)
    await expectNewest(keyspace)
    expect(await migrateTo(keyspace)).toEqual([])
    await expectNewest(keyspace)
  })

  test('version by version, each one cut off before its record', async () => {
    const keyspace = newKeyspace()
    for (const [index, { name }] of allMigrations.entries()) {
      if (index > 0) await asMigrationRole(keyspace, ...allMigrations[index]!.statements)
      expect(await migrateTo(keyspace, allMigrations.slice(0, index + 1))).toEqual([name])
    }
    await expectNewest(keyspace)
  })

  // Each version is a start of the test above; from three of them the whole way is gone at once.
  test.each([1, Math.floor(names.length / 2), names.length - 1])(
    'from version %i',
    async (version) => {
      const keyspace = newKeyspace()
      await migrateTo(keyspace, allMigrations.slice(0, version))
      expect(await migrateTo(keyspace)).toEqual(names.slice(version))
      await expectNewest(keyspace)
    },
  )

  test('by four processes at once, each migration by one of them', async () => {
    const keyspace = newKeyspace()
    const applied = await Promise.all([1, 2, 3, 4].map(() => migrateTo(keyspace)))
    expect(applied.flat().toSorted()).toEqual(names)
    await expectNewest(keyspace)
  })

  test('beside another keyspace of the same cluster', async () => {
    const keyspaces = [newKeyspace(), newKeyspace()]
    for (const keyspace of keyspaces) await migrateTo(keyspace)
    for (const keyspace of keyspaces) await expectNewest(keyspace)
  })
})

describe('history and files must agree', () => {
  test('a file that has changed since is refused, and nothing is applied', async () => {
    const keyspace = newKeyspace()
    await migrateTo(keyspace, allMigrations.slice(0, 3))
    const changed = allMigrations.map((migration) =>
      migration.version === 2 ? { ...migration, checksum: 'another' } : migration,
    )
    await expect(migrateTo(keyspace, changed)).rejects.toMatchObject({ code: 'SCHEMA_OUTDATED' })
    await expect(migrateTo(keyspace, changed)).rejects.toThrow('0002_events.cql has changed')
    await asService(keyspace, async (session) =>
      expect(await appliedMigrations(session)).toHaveLength(3),
    )
  })

  test('a schema that is newer than this version is refused, and told by readiness', async () => {
    const keyspace = newKeyspace()
    const newer = aMigration({
      statements: ['CREATE TABLE IF NOT EXISTS extra (a int PRIMARY KEY)'],
    })
    await migrateTo(keyspace, [...allMigrations, newer])
    await expect(migrateTo(keyspace)).rejects.toMatchObject({ code: 'SCHEMA_OUTDATED' })
    await asService(keyspace, async (session) => {
      const [reason] = await openReadiness(session)()
      expect(reason).toContain('9000_extra')
    })
  })

  test('readiness names what is not applied yet', async () => {
    const keyspace = newKeyspace()
    await migrateTo(keyspace, allMigrations.slice(0, -2))
    await asService(keyspace, async (session) =>
      expect(await openReadiness(session)()).toEqual(
        names.slice(-2).map((name) => `migration ${name} is not applied`),
      ),
    )
  })
})

describe('the lock', () => {
  const setLock = (holder: string) =>
    `UPDATE schema_migrations SET lock_holder = ${holder} WHERE scope = 'keyspace'`

  test('that another holds is waited for, and then given up with nothing applied', async () => {
    const keyspace = newKeyspace()
    await migrateTo(keyspace, allMigrations.slice(0, 2))
    await asMigrationRole(keyspace, `${setLock("'another'")} IF lock_holder = null`)
    let calls = 0
    const clock = { ...systemClock, monotonicMs: () => calls++ * 50_000 }
    await expect(migrateTestKeyspace(keyspace, onWarning, { clock })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
    await asService(keyspace, async (session) =>
      expect(await appliedMigrations(session)).toHaveLength(2),
    )
    const migrating = migrateTo(keyspace)
    await asMigrationRole(keyspace, `${setLock('null')} IF lock_holder = 'another'`)
    expect(await migrating).toEqual(names.slice(2))
  })

  test('is free after a migration, and one that loses it on the way does not go on', async () => {
    const keyspace = newKeyspace()
    const read = 'SELECT lock_holder, ttl(lock_holder) AS ttl FROM schema_migrations LIMIT 1'
    const lock = () =>
      asService(keyspace, async (session) => {
        const [row] = await session.execute({ table: 'test', operation: 'lock', cql: read })
        return row!
      })
    await migrateTo(keyspace)
    expect((await lock())['lock_holder']).toBeNull()
    const noLock = aMigration({ statements: [`${setLock("'thief'")} IF lock_holder != null`] })
    const after = aMigration({ version: 9_001, name: '9001_after' })
    await expect(migrateTo(keyspace, [...allMigrations, noLock, after])).rejects.toMatchObject({
      code: 'CONFLICT',
    })
    expect((await lock())['lock_holder']).toBe('thief')
    await asService(keyspace, async (session) =>
      expect((await appliedMigrations(session)).at(-1)!.name).toBe('9000_extra'),
    )
  })

  test('ends within minutes where its holder has died', async () => {
    const keyspace = newKeyspace()
    const copy = aMigration({ statements: ['UPDATE extra SET ttl = 1 WHERE a = 1'] })
    const table = 'CREATE TABLE IF NOT EXISTS extra (a int PRIMARY KEY, ttl int)'
    const first = aMigration({ version: 8_999, name: '8999_extra', statements: [table] })
    await migrateTo(keyspace, [...allMigrations, first])
    const watched = watchedLockTtl(keyspace)
    await migrateTo(keyspace, [...allMigrations, first, copy])
    const ttls = await watched.stop()
    expect(ttls.length).toBeGreaterThan(0)
    expect(Math.max(...ttls)).toBeLessThanOrEqual(300)
  })
})

/** Reads the lock's remaining life, over and over, until it is stopped. */
function watchedLockTtl(keyspace: string) {
  const cql = 'SELECT ttl(lock_holder) AS ttl FROM schema_migrations LIMIT 1'
  const ttls: number[] = []
  let isStopped = false
  const reading = asService(keyspace, async (session) => {
    while (!isStopped) {
      const [row] = await session.execute({ table: 'test', operation: 'ttl', cql })
      if (row?.['ttl'] !== null && row !== undefined) ttls.push(row['ttl'] as number)
    }
  })
  return {
    async stop(): Promise<readonly number[]> {
      isStopped = true
      await reading
      return ttls
    },
  }
}

describe('drift', () => {
  const drifted = async (...statements: string[]) => {
    const keyspace = newKeyspace()
    await migrateTo(keyspace)
    await asMigrationRole(keyspace, ...statements)
    return await asService(keyspace, (session) => schemaDrift(session, keyspace))
  }

  test('of columns, options and tables is told, each in a sentence', async () => {
    const found = await drifted(
      'ALTER TABLE events ADD colour text',
      'ALTER TABLE user_timeline WITH default_time_to_live = 5',
      "ALTER TABLE arrivals WITH compaction = {'class': 'SizeTieredCompactionStrategy'}",
      'ALTER TABLE projects DROP week_start',
      'DROP TABLE writers',
      'CREATE TABLE mine (a int PRIMARY KEY)',
    )
    expect(found.toSorted()).toEqual([
      expect.stringContaining('table arrivals: option compaction is') as string,
      'table events: column colour is "text regular", the migration left nothing',
      'table mine: no migration made it',
      'table projects: column week_start is nothing, the migration left "tinyint regular"',
      'table user_timeline: option default_time_to_live is 5, the migration left 345600000',
      'table writers: it is missing',
    ])
  })
})

test('the service may read and write the keyspace, and change nothing of its schema', async () => {
  const keyspace = newKeyspace()
  await migrateTo(keyspace)
  await asService(keyspace, async (session) => {
    for (const cql of [
      'CREATE TABLE mine (a int PRIMARY KEY)',
      'ALTER TABLE events ADD colour text',
      'DROP TABLE events',
      `DROP KEYSPACE ${keyspace}`,
      `CREATE KEYSPACE ${keyspace}2 WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}`,
      `GRANT ALL ON KEYSPACE ${keyspace} TO "${inject('database').service!.username}"`,
    ])
      await expect(session.changeSchema('test', cql)).rejects.toThrow(/permission|not authorized/i)
  })
})
