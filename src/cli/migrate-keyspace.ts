import { join } from 'node:path'
import { systemClock as clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../embedded/database.ts'
import type { Logger } from '../log.ts'
import { declareMetrics } from '../metrics.ts'
import { packageRoot } from '../package-root.ts'
import { migrate } from '../store/migrate.ts'
import { loadMigrations } from '../store/migrations.ts'

const REPLICAS_EMBEDDED = 1
const REPLICAS_GIVEN = 3

/** Brings the configured keyspace up to the newest migration; returns the names of those applied. */
export async function migrateKeyspace(config: Config, database: Database, log: Logger) {
  const { contactPoints, localDataCenter, migration, service } = database
  const isGiven = config.CASSANDRA_CONTACT_POINTS !== undefined
  const replicas = isGiven ? REPLICAS_GIVEN : REPLICAS_EMBEDDED
  return await migrate({
    connect: {
      contactPoints,
      localDataCenter,
      credentials: migration,
      log,
      metrics: declareMetrics(),
    },
    keyspace: config.CASSANDRA_KEYSPACE,
    replication: config.CASSANDRA_REPLICATION ?? { [localDataCenter]: replicas },
    serviceRole: service?.username,
    migrations: loadMigrations(join(packageRoot(), 'cql')),
    clock,
    log,
  })
}
