import { join } from 'node:path'
import { AppError } from '../error.ts'
import { packageRoot } from '../package-root.ts'
import { appliedMigrations, pendingMigrations } from './migrate.ts'
import { loadMigrations } from './migrations.ts'
import type { Session } from './session.ts'

/** Tells why the service is not ready: Cassandra away, or migrations to be applied. Empty when it is. */
export function openReadiness(session: Session) {
  const migrations = loadMigrations(join(packageRoot(), 'cql'))
  return async (): Promise<string[]> => {
    try {
      const pending = pendingMigrations(migrations, await appliedMigrations(session))
      return pending.map(({ name }) => `migration ${name} is not applied`)
    } catch (error) {
      if (error instanceof AppError) return [error.message]
      throw error
    }
  }
}
