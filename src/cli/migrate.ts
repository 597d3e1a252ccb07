import type { Command } from 'commander'
import { openLog } from '../log.ts'
import type { CommandContext } from './context.ts'
import { migrateKeyspace } from './migrate-keyspace.ts'
import { reachDatabase } from './reach-database.ts'

export function registerMigrate(program: Command, context: CommandContext): void {
  program
    .command('migrate')
    .description('bring the keyspace up to the newest migration of cql/')
    .option('--json', 'print what was applied as JSON')
    .action(async ({ json: isJson = false }: { json?: boolean }) => {
      const config = context.loadConfig()
      const log = openLog(config.LOG_LEVEL)
      const database = await reachDatabase(config, log)
      try {
        const applied = await migrateKeyspace(config, database, log)
        const said = applied.length === 0 ? 'nothing to apply' : `applied ${applied.join(', ')}`
        context.print(isJson ? JSON.stringify({ applied }) : said)
      } finally {
        await database.close()
      }
    })
}
