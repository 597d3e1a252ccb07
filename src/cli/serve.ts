import type { Command } from 'commander'
import { systemClock as clock } from '../clock.ts'
import { openDatabase } from '../embedded/database.ts'
import { openLog } from '../log.ts'
import type { CommandContext } from './context.ts'
import { runService } from './run-service.ts'

export function registerServe(program: Command, context: CommandContext): void {
  program
    .command('serve')
    .description('run the service alone: no migrations, no first project')
    .option('--json', 'print the address as JSON')
    .action(async ({ json: isJson = false }: { json?: boolean }) => {
      const config = context.loadConfig()
      const log = openLog(config.LOG_LEVEL)
      const stopping = context.interruption()
      const database = await openDatabase({ config, log, clock })
      try {
        await runService(
          config,
          database,
          { log, stopping },
          async ({ url, adminKey, isAdminKeyNew }) => {
            const made = isAdminKeyNew ? `, admin key (shown once) ${adminKey}` : ''
            context.print(isJson ? JSON.stringify({ url }) : `listening on ${url}${made}`)
          },
        )
      } finally {
        await database.close()
      }
    })
}
