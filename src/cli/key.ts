import { Option, type Command } from 'commander'
import { z } from 'zod'
import type { CommandContext } from './context.ts'
import { requestJson } from './http-client.ts'
import { keepKeys } from './key-ring.ts'
import { printable } from './printable.ts'
import { table } from './table.ts'
import { addAdminOptions } from './target-options.ts'
import { resolveProject } from './target.ts'

const Key = z.looseObject({
  keyId: z.string(),
  kind: z.string(),
  rights: z.array(z.string()),
  alsoKnownAs: z.array(z.string()),
  createdAt: z.string(),
})
const List = z.object({ keys: z.array(Key) })
const NewKey = z.looseObject({ keyId: z.string(), key: z.string() })
const Named = z.looseObject({ name: z.string() })

interface KeyOptions {
  readonly project?: string
  readonly key?: string
  readonly url?: string
  readonly json?: boolean
}

interface NewKeyOptions extends KeyOptions {
  readonly kind: 'write' | 'read'
  readonly right?: string[]
  readonly alsoKnownAs?: string[]
  readonly keep?: boolean
}

export function registerKey(program: Command, context: CommandContext): void {
  const key = program.command('key').description('list, make and revoke the keys of a project')
  addKeyOptions(
    key.command('list').description('list the keys; they themselves are not kept'),
  ).action(async (options: KeyOptions) => {
    const { admin, path } = await resolveProject(context.loadConfig(), options)
    const answer = await requestJson(admin, `${path}/keys`)
    context.print(options.json ? JSON.stringify(answer) : listed(List.parse(answer)))
  })
  registerCreate(key, context)
  addKeyOptions(
    key.command('revoke').description('make a key void').argument('<keyId>', 'see list'),
  ).action(async (keyId: string, options: KeyOptions) => {
    const { admin, path } = await resolveProject(context.loadConfig(), options)
    await requestJson(admin, `${path}/keys/${encodeURIComponent(keyId)}`, undefined, 'DELETE')
    const said = `revoked ${printable(keyId)}`
    context.print(options.json ? JSON.stringify({ revoked: keyId }) : said)
  })
}

function registerCreate(key: Command, context: CommandContext): void {
  const command = key
    .command('create')
    .description('make a key; it is shown once')
    .addOption(
      new Option('--kind <kind>', 'write: stores events only; read: asks only')
        .choices(['write', 'read'])
        .makeOptionMandatory(),
    )
    .option('--right <right>', 'erase, of a read key: may erase users', collected)
    .option('--also-known-as <id>', 'another name of a write key; may be given again', collected)
    .option('--keep', 'keep it in DATA_DIR, for the commands that run there')
  addKeyOptions(command).action(async (options: NewKeyOptions) => {
    const config = context.loadConfig()
    const { admin, projectId, path } = await resolveProject(config, options)
    const { kind, right: rights, alsoKnownAs } = options
    const answer = await requestJson(admin, `${path}/keys`, { kind, rights, alsoKnownAs })
    const made = NewKey.parse(answer)
    const shown = `key id     ${made.keyId}\n${kind.padEnd(5)} key  ${made.key}`
    context.print(options.json ? JSON.stringify(answer) : shown)
    if (!options.keep) return
    const { name } = Named.parse(await requestJson(admin, path))
    await keepKeys(config.DATA_DIR, projectId, { name, [`${kind}Key`]: made.key })
  })
}

function addKeyOptions(command: Command): Command {
  const what = 'by id, or by name if kept here; the first project by default'
  return addAdminOptions(command.option('--project <id>', what))
}

function collected(text: string, earlier: string[] = []): string[] {
  return [...earlier, text]
}

function listed({ keys }: z.output<typeof List>): string {
  const rows = keys.map(({ keyId, kind, rights, alsoKnownAs, createdAt }) => [
    ...[keyId, kind, rights.join(' '), alsoKnownAs.join(' '), createdAt],
  ])
  return table(['id', 'kind', 'rights', 'also known as', 'made'], rows)
}
