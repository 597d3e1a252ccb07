#!/usr/bin/env node
import { Command } from 'commander'
import process from 'node:process'
import { EXIT, type CommandContext } from './cli/context.ts'
import { registerDoctor } from './cli/doctor.ts'
import { registerFunnel } from './cli/funnel.ts'
import { registerMigrate } from './cli/migrate.ts'
import { registerServe } from './cli/serve.ts'
import { registerStart } from './cli/start.ts'
import { registerUser } from './cli/user.ts'
import { loadConfig } from './config.ts'
import { AppError } from './error.ts'

const context: CommandContext = {
  loadConfig,
  print: (text) => void process.stdout.write(`${text}\n`),
  printError: (text) => void process.stderr.write(`${text}\n`),
  exitWith: (code) => void (process.exitCode = code),
}

const program = new Command('thousandfold').description('behaviour analytics on Apache Cassandra')
const commands = [
  ...[registerStart, registerServe, registerMigrate, registerDoctor],
  ...[registerFunnel, registerUser],
]
for (const register of commands) register(program, context)
program.exitOverride()

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof AppError) {
    context.printError(`${error.code}: ${error.message}`)
    // The first fault is the message.
    for (const { path, message } of error.faults.slice(1))
      context.printError(`  ${path}: ${message}`)
    context.exitWith(EXIT.failed)
  } else if (isUsage(error)) {
    context.exitWith(error.exitCode === 0 ? EXIT.ok : EXIT.usage)
  } else {
    throw error
  }
}

// Commander has already said what is wrong.
function isUsage(error: unknown): error is { exitCode: number } {
  return error instanceof Error && 'exitCode' in error
}
