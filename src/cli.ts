#!/usr/bin/env node
import process from 'node:process'
import { EXIT, type CommandContext } from './cli/context.ts'
import { registerCounts } from './cli/counts.ts'
import { registerDoctor } from './cli/doctor.ts'
import { registerFunnel } from './cli/funnel.ts'
import { registerFunnelUsers } from './cli/funnel-users.ts'
import { registerImport } from './cli/import.ts'
import { registerKey } from './cli/key.ts'
import { registerMigrate } from './cli/migrate.ts'
import { registerProject } from './cli/project.ts'
import { registerRecount } from './cli/recount.ts'
import { runCommands } from './cli/run-commands.ts'
import { registerSearch } from './cli/search.ts'
import { registerSeal } from './cli/seal.ts'
import { registerServe } from './cli/serve.ts'
import { registerStart } from './cli/start.ts'
import { registerUser } from './cli/user.ts'
import { systemClock } from './clock.ts'
import { loadConfig } from './config.ts'

/** A signal that comes so much later than the first is a second one, and ends the process at once. */
const SECOND_SIGNAL_MS_MIN = 1_000

const context: CommandContext = {
  loadConfig,
  print: (text) => void process.stdout.write(`${text}\n`),
  printError: (text) => void process.stderr.write(`${text}\n`),
  isTerminal: process.stderr.isTTY,
  interruption,
  exitWith: (code) => void (process.exitCode = code),
}

// Who reads the output may have seen enough, as `head` has.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(EXIT.ok)
})

const commands = [
  ...[registerStart, registerServe, registerSeal, registerMigrate, registerDoctor],
  ...[registerImport, registerFunnel, registerFunnelUsers],
  ...[registerCounts, registerSearch, registerUser],
  ...[registerProject, registerKey, registerRecount],
]
const isToEnd = new AbortController()
await runCommands(commands, process.argv.slice(2), context)
// All is closed by now. What the driver may still hold on to after an outage must not keep the process.
if (isToEnd.signal.aborted) process.exit()

function interruption(): AbortSignal {
  let firstMs: number | null = null
  const onSignal = () => {
    const nowMs = systemClock.monotonicMs()
    // At a terminal, Ctrl-C reaches a script of npm twice: from the terminal, and passed on by npm.
    if (firstMs !== null && nowMs - firstMs > SECOND_SIGNAL_MS_MIN) process.exit(EXIT.interrupted)
    firstMs ??= nowMs
    isToEnd.abort()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return isToEnd.signal
}
