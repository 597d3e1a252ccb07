import type { TestProject } from 'vitest/node'
import { systemClock as clock } from '../../src/clock.ts'
import { loadConfig } from '../../src/config.ts'
import { openDatabase, type Database } from '../../src/embedded/database.ts'
import { openLog } from '../../src/log.ts'
import { temporaryFolder } from './data-dir.ts'

/** What tests get to work with: the given Cassandra, else one that is started for them. */
export type TestDatabase = Omit<Database, 'close' | 'runtime' | 'ended'>

declare module 'vitest' {
  interface ProvidedContext {
    database: TestDatabase
  }
}

/** Runs once before the tests of the project `store`. No Cassandra is a failure, never a skip. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await temporaryFolder()
  const config = { ...loadConfig(), DATA_DIR: folder.path, CASSANDRA_PORT: 0 }
  const { close, contactPoints, localDataCenter, service, migration } = await openDatabase({
    config,
    log: openLog('warn'),
    clock,
  })
  project.provide('database', { contactPoints, localDataCenter, service, migration })
  return async () => {
    await close()
    await folder.remove()
  }
}
