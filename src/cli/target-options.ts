import type { Command } from 'commander'

/** How a command names the service, the project and the key; each has a default. */
export interface TargetOptions {
  readonly url?: string | undefined
  readonly project?: string | undefined
  readonly key?: string | undefined
}

/** What a key is needed for. */
export type KeyNeed = 'write' | 'read' | 'erase'

/** Of commands that manage projects. */
export function addAdminOptions(command: Command): Command {
  return command
    .option('--key <key>', 'the admin key; the one that is kept here by default')
    .option('--url <url>', 'of the service; the one that runs on DATA_DIR by default')
    .option('--json', 'print the whole answer as JSON')
}

export function addTargetOptions(command: Command, kind: KeyNeed): Command {
  const keys = {
    write: 'a write key; one that is kept here by default',
    read: 'a read key; one that is kept here by default',
    erase: 'a read key with the right to erase; the admin key by default',
  }
  return command
    .option('--project <id>', 'by id, or by name if kept here; the first project by default')
    .option('--key <key>', keys[kind])
    .option('--url <url>', 'of the service; the one that runs on DATA_DIR by default')
}
