import type { Command } from 'commander'

/** How a command names the service, the project and the key; each has a default. */
export interface TargetOptions {
  readonly url?: string | undefined
  readonly project?: string | undefined
  readonly key?: string | undefined
}

export function addTargetOptions(command: Command, kind: 'write' | 'read'): Command {
  return command
    .option('--project <id>', 'by id, or by name if kept here; the first project by default')
    .option('--key <key>', `a ${kind} key; one that is kept here by default`)
    .option('--url <url>', 'of the service; the one that runs on DATA_DIR by default')
}
