// A service as far as its database goes: opens it on the folder that it is told, says so, and waits.
import process from 'node:process'
import { systemClock as clock } from '../../src/clock.ts'
import { openDatabase } from '../../src/embedded/database.ts'
import { openLog } from '../../src/log.ts'
import { embeddedConfig } from '../support/embedded.ts'

const config = embeddedConfig(process.argv[2]!)
const database = await openDatabase({ config, log: openLog('warn'), clock })
process.stdout.write(`${JSON.stringify(database)}\n`)
setInterval(() => {}, 60_000)
