#!/usr/bin/env node
import process from 'node:process'
import type { CommandContext } from './cli/context.ts'
import { registerDoctor } from './cli/doctor.ts'
import { registerFunnel } from './cli/funnel.ts'
import { registerImport } from './cli/import.ts'
import { registerMigrate } from './cli/migrate.ts'
import { runCommands } from './cli/run-commands.ts'
import { registerServe } from './cli/serve.ts'
import { registerStart } from './cli/start.ts'
import { registerUser } from './cli/user.ts'
import { loadConfig } from './config.ts'

const context: CommandContext = {
  loadConfig,
  print: (text) => void process.stdout.write(`${text}\n`),
  printError: (text) => void process.stderr.write(`${text}\n`),
  isTerminal: process.stderr.isTTY,
  interruption,
  exitWith: (code) => void (process.exitCode = code),
}

const commands = [
  ...[registerStart, registerServe, registerMigrate, registerDoctor],
  ...[registerImport, registerFunnel, registerUser],
]
await runCommands(commands, process.argv.slice(2), context)

function interruption(): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      controller.abort()
      process.once(signal, () => process.exit(130))
    })
  return controller.signal
}
