import type { Command } from 'commander'
import { statfs } from 'node:fs/promises'
import { styleText } from 'node:util'
import { systemClock as clock } from '../clock.ts'
import type { Config } from '../config.ts'
import { AppError } from '../error.ts'
import { openLog, type Logger } from '../log.ts'
import { declareMetrics } from '../metrics.ts'
import { openSession } from '../store/session.ts'
import { openStores } from '../store/stores.ts'
import { examine, type Finding } from '../upkeep/doctor.ts'
import { EXIT, type CommandContext } from './context.ts'
import { reachDatabase } from './reach-database.ts'

const FREE_BYTES_MIN = 5 * 2 ** 30

export function registerDoctor(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .description('say what is wrong with the database and this machine, and what to do about it')
    .option('--json', 'print the findings as JSON')
    .action(async ({ json: isJson = false }: { json?: boolean }) => {
      const config = context.loadConfig()
      const findings = await diagnose(config, openLog(config.LOG_LEVEL)).catch(unreachable)
      context.print(isJson ? JSON.stringify({ findings }) : findings.map(findingLine).join('\n'))
      if (findings.some(({ isOk }) => !isOk)) context.exitWith(EXIT.failed)
    })
}

/** That Cassandra cannot be reached is a finding too, and the only one that can be made then. */
function unreachable(error: unknown): Finding[] {
  if (!(error instanceof AppError)) throw error
  const remedy =
    'is it running, and are CASSANDRA_CONTACT_POINTS, CASSANDRA_LOCAL_DC and the login right?'
  return [{ check: 'connection', isOk: false, message: error.message, remedy }]
}

async function diagnose(config: Config, log: Logger): Promise<Finding[]> {
  const { CASSANDRA_KEYSPACE: keyspace, DATA_DIR } = config
  const database = await reachDatabase(config, log)
  try {
    const { contactPoints, localDataCenter, service } = database
    const session = await openSession({
      ...{ contactPoints, localDataCenter, keyspace, credentials: service, log },
      metrics: declareMetrics(),
    })
    try {
      const found = await examine({ stores: openStores(session), keyspace, clock })
      return config.CASSANDRA_CONTACT_POINTS === undefined
        ? [...found, await disk(DATA_DIR)]
        : found
    } finally {
      await session.close()
    }
  } finally {
    await database.close()
  }
}

async function disk(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder)
  const freeBytes = bavail * bsize
  const message = `${(freeBytes / 2 ** 30).toFixed(1)} GiB free at ${folder}`
  if (freeBytes >= FREE_BYTES_MIN) return { check: 'disk', isOk: true, message }
  return { check: 'disk', isOk: false, message, remedy: 'make room: compaction needs it' }
}

/** One line a finding, for people. */
function findingLine({ check, isOk, message, remedy }: Finding): string {
  const mark = isOk ? styleText('green', 'ok  ') : styleText('red', 'FAIL')
  return `${mark} ${check.padEnd(11)} ${message}${remedy === undefined ? '' : `\n     → ${remedy}`}`
}
