import type { Command } from 'commander'
import { systemClock as clock } from '../clock.ts'
import { openLog } from '../log.ts'
import { declareMetrics } from '../metrics.ts'
import { openSealerOn } from '../seal/sealer-on.ts'
import { openSession } from '../store/session.ts'
import { aborted } from './aborted.ts'
import type { CommandContext } from './context.ts'
import { reachDatabase } from './reach-database.ts'

export function registerSeal(program: Command, context: CommandContext): void {
  program
    .command('seal')
    .description(
      'seal events into segments in a process of its own, beside services with SEALING=off',
    )
    .option('--once', 'seal what waits, merge what is worth it, and end')
    .option('--json', 'print what was done as JSON')
    .action(async (options: { once?: boolean; json?: boolean }) => {
      const { once: isOnce = false, json: isJson = false } = options
      const config = context.loadConfig()
      const log = openLog(config.LOG_LEVEL)
      const stopping = context.interruption()
      const database = await reachDatabase(config, log)
      const { contactPoints, localDataCenter, service: credentials } = database
      const metrics = declareMetrics()
      const session = await openSession({
        ...{ contactPoints, localDataCenter, credentials, metrics, log },
        keyspace: config.CASSANDRA_KEYSPACE,
      })
      const sealer = openSealerOn(session, { clock, metrics, log })
      try {
        if (isOnce) await sealer.sealAll()
        else {
          sealer.start()
          context.printError('sealing until Ctrl-C')
          await aborted(AbortSignal.any([stopping, database.ended]))
        }
      } finally {
        await sealer.close()
        await session.close()
        await database.close()
      }
      const { values } = await metrics.sealEvents.get()
      const events = values.reduce((sum, { value }) => sum + value, 0)
      context.print(isJson ? JSON.stringify({ events }) : `sealed ${events} events`)
    })
}
