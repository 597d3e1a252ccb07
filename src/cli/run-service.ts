import process from 'node:process'
import { systemClock as clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../embedded/database.ts'
import type { Logger } from '../log.ts'
import { openService } from '../main.ts'
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
 * once it listens.
 */
export async function runService(
  config: Config,
  database: Database,
  { log, stopping }: { readonly log: Logger; readonly stopping: Promise<NodeJS.Signals> },
  onReady: (service: RunningService) => Promise<void>,
): Promise<void> {
  const { contactPoints, localDataCenter, service: credentials } = database
  const { adminKey, isNew } = await loadAdminKey(config)
  const address = { contactPoints, localDataCenter, credentials }
  const service = await openService(config, address, adminKey, log)
  try {
    const file = { url: service.url, pid: process.pid, contactPoints, localDataCenter }
    await writeServiceFile(config.DATA_DIR, file)
    await onReady({ url: service.url, adminKey, isAdminKeyNew: isNew })
    log.info({ signal: await stopping }, 'finishing what was accepted')
  } finally {
    const startedMs = clock.monotonicMs()
    await service.close()
    await removeServiceFile(config.DATA_DIR)
    log.info({ tookMs: Math.round(clock.monotonicMs() - startedMs) }, 'stopped')
  }
}

/**
 * Resolves at SIGINT or SIGTERM. Asked for before anything is started, so that whatever was can be stopped
 * in order. A second signal ends the process at once.
 */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => {
        resolve(signal)
        process.once(signal, () => process.exit(130))
      })
  })
}
