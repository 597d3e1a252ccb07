import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../error.ts'
import { packageRoot } from '../package-root.ts'
import { appliedMigrations, pendingMigrations } from './migrate.ts'
import { loadMigrations } from './migrations.ts'
import type { Session } from './session.ts'

/** Probes rarely wait for longer. */
const ANSWER_TIMEOUT_MS = 800

/** Tells why the service is not ready: Cassandra away, or migrations to be applied. Empty when it is. */
export function openReadiness(session: Session) {
  const migrations = loadMigrations(join(packageRoot(), 'cql'))
  return async (): Promise<string[]> => {
    const timer = new AbortController()
    try {
      const applied = await Promise.race([
        appliedMigrations(session),
        sleep(ANSWER_TIMEOUT_MS, null, { signal: timer.signal }),
      ])
      if (applied === null) return [`Cassandra does not answer within ${ANSWER_TIMEOUT_MS} ms`]
      const pending = pendingMigrations(migrations, applied)
      return pending.map(({ name }) => `migration ${name} is not applied`)
    } catch (error) {
      if (error instanceof AppError) return [error.message]
      throw error
    } finally {
      timer.abort()
    }
  }
}
