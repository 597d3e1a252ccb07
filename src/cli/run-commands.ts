import { Command, CommanderError } from 'commander'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AppError, type ErrorCode } from '../error.ts'
import { packageRoot } from '../package-root.ts'
import { EXIT, type CommandContext } from './context.ts'

const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
  version: string
}

/** What is wrong is what was typed. */
const USAGE: readonly ErrorCode[] = ['INVALID_REQUEST', 'INVALID_QUERY']

export type RegisterCommand = (program: Command, context: CommandContext) => void

/** Runs the command that `words` ask for. Tells an AppError in a line; any other is a bug, and thrown. */
export async function runCommands(
  registers: readonly RegisterCommand[],
  words: readonly string[],
  context: CommandContext,
): Promise<void> {
  const program = new Command('thousandfold')
    .description('behaviour analytics on Apache Cassandra')
    .version(version)
    // Else the options of `user erase` would be taken for those of `user`.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.print(text.trimEnd()),
      writeErr: (text) => context.printError(text.trimEnd()),
    })
  // Commands take on what was set before they were made.
  for (const register of registers) register(program, context)
  try {
    await program.parseAsync(words, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) {
      // It has already said what is wrong.
      context.exitWith(error.exitCode === 0 ? EXIT.ok : EXIT.usage)
    } else if (error instanceof AppError) {
      context.printError(`${error.code}: ${error.message}`)
      for (const { path, message } of error.faults)
        if (!error.message.includes(message)) context.printError(`  ${path}: ${message}`)
      context.exitWith(USAGE.includes(error.code) ? EXIT.usage : EXIT.failed)
    } else {
      throw error
    }
  }
}
