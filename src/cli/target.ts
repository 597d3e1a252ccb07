import { z } from 'zod'
import type { Config } from '../config.ts'
import { AppError } from '../error.ts'
import { findAdminKey } from './admin-key.ts'
import { requestJson, type Target } from './http-client.ts'
import { keepKeys, loadKeyRing, type KeyRing } from './key-ring.ts'
import { readServiceFile } from './service-file.ts'
import type { KeyNeed, TargetOptions } from './target-options.ts'

/**
 * Finds the service and a key of the wanted kind: the given one, else one that DATA_DIR keeps for the
 * project (the first project by default), else one by the admin key; to erase, never a kept one. Throws
 * INVALID_REQUEST where none is.
 */
export async function resolveTarget(
  config: Config,
  { url: givenUrl, project, key: givenKey }: TargetOptions,
  kind: KeyNeed,
): Promise<Target> {
  const url = await findUrl(config, givenUrl)
  if (givenKey !== undefined) return targetOf(url, givenKey, null)
  const ring = await loadKeyRing(config.DATA_DIR)
  const projectId = findProject(ring, project)
  const kept = Object.hasOwn(ring.projects, projectId) ? ring.projects[projectId] : undefined
  const key = { write: kept?.writeKey, read: kept?.readKey, erase: undefined }[kind]
  if (key !== undefined) return targetOf(url, key, projectId)
  const adminKey = await findAdminKey(config)
  if (adminKey === null)
    throw new AppError(
      'INVALID_REQUEST',
      `no ${kind} key of project ${projectId} is kept here: give --key`,
    )
  if (kind !== 'write') return targetOf(url, adminKey, projectId, { 'x-project': projectId })
  return targetOf(url, await makeWriteKey({ url, adminKey, projectId }, config.DATA_DIR), projectId)
}

/** Finds the service and the admin key: the given one, else the one kept here. Throws INVALID_REQUEST. */
export async function resolveAdmin(
  config: Config,
  { url, key }: Pick<TargetOptions, 'url' | 'key'>,
): Promise<Target> {
  const adminKey = key ?? (await findAdminKey(config))
  if (adminKey === null)
    throw new AppError('INVALID_REQUEST', 'no admin key is kept here: give --key or ADMIN_KEY')
  return targetOf(await findUrl(config, url), adminKey, null)
}

/** Finds the same, and a project by id or kept name, by default the first; `path` is its resource. */
export async function resolveProject(
  config: Config,
  { project, ...options }: TargetOptions,
): Promise<{ readonly admin: Target; readonly projectId: string; readonly path: string }> {
  const admin = await resolveAdmin(config, options)
  const projectId = findProject(await loadKeyRing(config.DATA_DIR), project)
  return { admin, projectId, path: `/v1/projects/${encodeURIComponent(projectId)}` }
}

async function findUrl(config: Config, given: string | undefined): Promise<string> {
  const url = given?.replace(/\/+$/, '') ?? (await serviceUrl(config))
  if (!URL.canParse(url)) throw new AppError('INVALID_REQUEST', `--url: not a URL: ${url}`)
  return url
}

async function serviceUrl({ DATA_DIR, HOST, PORT }: Config): Promise<string> {
  const running = await readServiceFile(DATA_DIR)
  return running?.url ?? `http://${HOST}:${PORT}`
}

/** Returns the id of a project by id or by a name that is kept here, of the first one by default. */
export function findProject(
  { firstProject, projects }: KeyRing,
  asked: string | undefined,
): string {
  if (asked === undefined) {
    if (firstProject !== undefined) return firstProject
    throw new AppError('INVALID_REQUEST', 'which project? give --project, or --key')
  }
  if (Object.hasOwn(projects, asked)) return asked
  const named = Object.entries(projects).flatMap(([id, { name }]) => (name === asked ? [id] : []))
  if (named.length > 1)
    throw new AppError('INVALID_REQUEST', `--project: ${asked} is the name of ${named.join(', ')}`)
  return named[0] ?? asked
}

async function makeWriteKey(
  { url, adminKey, projectId }: { url: string; adminKey: string; projectId: string },
  dataDir: string,
): Promise<string> {
  const admin = targetOf(url, adminKey, projectId)
  const path = `/v1/projects/${encodeURIComponent(projectId)}`
  const { name } = z.object({ name: z.string() }).parse(await requestJson(admin, path))
  const made = await requestJson(admin, `${path}/keys`, { kind: 'write' })
  const { key } = z.object({ key: z.string() }).parse(made)
  await keepKeys(dataDir, projectId, { name, writeKey: key })
  return key
}

function targetOf(
  url: string,
  key: string,
  projectId: string | null,
  headers: Record<string, string> = {},
): Target {
  if (!/^[!-~]+$/.test(key)) throw new AppError('INVALID_REQUEST', '--key: no key has such signs')
  return { url, key, projectId, headers: { ...headers, authorization: `Bearer ${key}` } }
}
