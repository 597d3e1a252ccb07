import { systemClock as clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../embedded/database.ts'
import { AppError } from '../error.ts'
import type { Logger } from '../log.ts'
import { openService } from '../main.ts'
import { aborted } from './aborted.ts'
import { loadAdminKey } from './admin-key.ts'
import { removeServiceFile, writeServiceFile } from './service-file.ts'

export interface RunningService {
  readonly url: string
  readonly adminKey: string
  /** Told once, when it was made by this start. */
  readonly isAdminKeyNew: boolean
}

/**
 * Runs the service on a database until `stopping`, then finishes what was accepted. `onReady` is called
 * once it listens. Throws EMBEDDED_UNAVAILABLE when the embedded Cassandra ends before, so that whoever
 * supervises the process starts both again.
 */
export async function runService(
  config: Config,
  database: Database,
  { log, stopping }: { readonly log: Logger; readonly stopping: AbortSignal },
  onReady: (service: RunningService) => Promise<void>,
): Promise<void> {
  const { contactPoints, localDataCenter, service: credentials } = database
  const { adminKey, isNew } = await loadAdminKey(config)
  const address = { contactPoints, localDataCenter, credentials }
  const service = await openService(config, address, adminKey, log)
  try {
    await writeServiceFile(config.DATA_DIR, { url: service.url, contactPoints, localDataCenter })
    if (!stopping.aborted) await onReady({ url: service.url, adminKey, isAdminKeyNew: isNew })
    await aborted(AbortSignal.any([stopping, database.ended]))
    if (database.ended.aborted)
      throw new AppError('EMBEDDED_UNAVAILABLE', 'Cassandra has ended: start the service again')
    log.info('finishing what was accepted')
  } finally {
    const startedMs = clock.monotonicMs()
    await service.close().finally(() => removeServiceFile(config.DATA_DIR))
    log.info({ tookMs: Math.round(clock.monotonicMs() - startedMs) }, 'the service has stopped')
  }
}
