import { parseConfig } from '../../src/config.ts'
import type { CommandContext } from '../../src/cli/context.ts'
import { runCommands, type RegisterCommand } from '../../src/cli/run-commands.ts'

/** What a command said, and how it ended. */
export interface Ended {
  readonly code: number
  readonly out: string
  readonly errors: string
}

/** Runs a command in this process, as cli.ts does. */
export async function runCommand(
  register: RegisterCommand,
  words: readonly string[],
  environment: Record<string, string>,
  stop = new AbortController().signal,
): Promise<Ended> {
  const said = { code: 0, out: '', errors: '' }
  const context: CommandContext = {
    loadConfig: () => parseConfig(environment),
    print: (text) => void (said.out += `${text}\n`),
    printError: (text) => void (said.errors += `${text}\n`),
    isTerminal: false,
    interruption: () => stop,
    exitWith: (code) => void (said.code = code),
  }
  await runCommands([register], words, context)
  return said
}
