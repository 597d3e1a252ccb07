import type { Command } from 'commander'
import { z } from 'zod'
import { AppError } from '../error.ts'
import type { CommandContext } from './context.ts'
import { requestJson } from './http-client.ts'
import { forgetKeys, keepKeys, loadKeyRing } from './key-ring.ts'
import { parseCount } from './parse-count.ts'
import { printable } from './printable.ts'
import { table } from './table.ts'
import { addAdminOptions } from './target-options.ts'
import { resolveAdmin, resolveProject } from './target.ts'

const Project = z.looseObject({
  id: z.string(),
  name: z.string(),
  timeZone: z.string(),
  retentionDays: z.number(),
  createdAt: z.string(),
})
const NewProject = Project.extend({ writeKey: z.string(), readKey: z.string() })
const List = z.object({ projects: z.array(Project) })

interface AdminOptions {
  readonly key?: string
  readonly url?: string
  readonly json?: boolean
}

interface SettingsOptions extends AdminOptions {
  readonly name?: string
  readonly timeZone?: string
  readonly retentionDays?: number
  readonly weekStart?: number
}

export function registerProject(program: Command, context: CommandContext): void {
  const project = program.command('project').description('list, make, change and destroy projects')
  addAdminOptions(project.command('list').description('list all projects')).action(
    async (options: AdminOptions) => {
      const admin = await resolveAdmin(context.loadConfig(), options)
      const answer = await requestJson(admin, '/v1/projects')
      context.print(options.json ? JSON.stringify(answer) : listed(List.parse(answer)))
    },
  )
  registerCreate(project, context)
  registerUpdate(project, context)
  registerDelete(project, context)
}

function registerCreate(group: Command, context: CommandContext): void {
  const command = group
    .command('create')
    .description('make a project; its keys are shown once')
    .argument('<name>', 'names need not be unique')
    .option('--keep', 'keep its keys in DATA_DIR, for the commands that run there')
  addAdminOptions(addSettings(command)).action(
    async (name: string, options: SettingsOptions & { readonly keep?: boolean }) => {
      const config = context.loadConfig()
      const admin = await resolveAdmin(config, options)
      const settings = settingsOf({ ...options, name })
      const answer = await requestJson(admin, '/v1/projects', settings)
      const { id, writeKey, readKey } = NewProject.parse(answer)
      context.print(
        options.json
          ? JSON.stringify(answer)
          : `project    ${id}\nwrite key  ${writeKey}\nread key   ${readKey}`,
      )
      if (options.keep) await keepKeys(config.DATA_DIR, id, { name, writeKey, readKey })
    },
  )
}

function registerUpdate(group: Command, context: CommandContext): void {
  const command = group
    .command('update')
    .description('change a project')
    .argument('<project>', 'by id, or by name if kept here')
    .option('--name <name>', 'its new name')
  addAdminOptions(addSettings(command)).action(
    async (project: string, options: SettingsOptions) => {
      const config = context.loadConfig()
      const { admin, projectId, path } = await resolveProject(config, { ...options, project })
      const answer = await requestJson(admin, path, settingsOf(options), 'PATCH')
      const { name } = Project.parse(answer)
      if (Object.hasOwn((await loadKeyRing(config.DATA_DIR)).projects, projectId))
        await keepKeys(config.DATA_DIR, projectId, { name })
      context.print(
        options.json ? JSON.stringify(answer) : listed({ projects: [Project.parse(answer)] }),
      )
    },
  )
}

function registerDelete(group: Command, context: CommandContext): void {
  const command = group
    .command('delete')
    .description('destroy a project: its keys are void at once, its events are in no answer')
    .argument('<project>', 'by id, or by name if kept here')
    .option('--yes', 'really')
  addAdminOptions(command).action(
    async (project: string, options: AdminOptions & { readonly yes?: boolean }) => {
      const config = context.loadConfig()
      const { admin, projectId, path } = await resolveProject(config, { ...options, project })
      const { name } = Project.parse(await requestJson(admin, path))
      const what = `project ${projectId} (${printable(name)})`
      if (!options.yes)
        throw new AppError('INVALID_REQUEST', `this cannot be undone: --yes destroys ${what}`)
      await requestJson(admin, path, undefined, 'DELETE')
      await forgetKeys(config.DATA_DIR, projectId)
      context.print(options.json ? JSON.stringify({ deleted: projectId }) : `destroyed ${what}`)
    },
  )
}

function addSettings(command: Command): Command {
  return command
    .option('--time-zone <zone>', 'in which its days begin; UTC at first')
    .option('--retention-days <count>', 'how long events are kept; 400 at first', parseCount())
    .option('--week-start <day>', '1 Monday to 7 Sunday; 1 at first', parseCount(7))
}

function settingsOf({ name, timeZone, retentionDays, weekStart }: SettingsOptions) {
  return { name, timeZone, retentionDays, weekStart }
}

function listed({ projects }: z.output<typeof List>): string {
  const rows = projects.map(({ id, name, timeZone, retentionDays, createdAt }) => [
    ...[id, name, timeZone, retentionDays, createdAt],
  ])
  return table(['id', 'name', 'time zone', 'days kept', 'made'], rows)
}
