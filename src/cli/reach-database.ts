import { systemClock as clock } from '../clock.ts'
import type { Config } from '../config.ts'
import { openDatabase, keptLogins, type Database } from '../embedded/database.ts'
import type { Logger } from '../log.ts'
import { readServiceFile } from './service-file.ts'

/**
 * Returns the database of this configuration for a command beside the service: the one that a running
 * service uses, else one that is opened, and for an embedded one started, until `close`.
 */
export async function reachDatabase(config: Config, log: Logger): Promise<Database> {
  const service =
    config.CASSANDRA_CONTACT_POINTS === undefined ? await readServiceFile(config.DATA_DIR) : null
  if (service === null) return await openDatabase({ config, log, clock })
  const { contactPoints, localDataCenter } = service
  const logins = await keptLogins(config.DATA_DIR)
  return {
    contactPoints,
    localDataCenter,
    ...logins,
    runtime: 'given',
    ended: new AbortController().signal,
    close: async () => {},
  }
}
