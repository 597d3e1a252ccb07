import { z } from 'zod'
import type { Config } from '../config.ts'
import { AppError, type ErrorCode } from '../error.ts'
import { findAdminKey } from './admin-key.ts'
import { loadKeyRing, saveKeyRing, type KeyRing } from './key-ring.ts'
import { readServiceFile } from './service-file.ts'

const Problem = z.object({
  code: z.string(),
  detail: z.string(),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).default([]),
})

/** How a command names the service, the project and the key; each has a default. */
export interface TargetOptions {
  readonly url?: string | undefined
  readonly project?: string | undefined
  readonly key?: string | undefined
}

/** Where to send a request, and with what key. `headers` has the key already. */
export interface Target {
  readonly url: string
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
}

/** Sends a request and returns the parsed answer. Throws AppError with what the service says is wrong. */
export async function requestJson(target: Target, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(`${target.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...target.headers, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch((cause: unknown) => {
    throw new AppError('STORE_UNAVAILABLE', `nothing answers at ${target.url}: run \`npm start\``, {
      cause,
    })
  })
  const answer: unknown = await response.json()
  if (response.ok) return answer
  const { code, detail, errors } = Problem.parse(answer)
  throw new AppError(code as ErrorCode, detail, { faults: errors })
}

/**
 * Finds the service and a key of the wanted kind: the given one, else one that DATA_DIR keeps for the
 * project (the first project by default), else one by the admin key. Throws INVALID_REQUEST where none is.
 */
export async function resolveTarget(
  config: Config,
  { url: givenUrl, project, key: givenKey }: TargetOptions,
  kind: 'write' | 'read',
): Promise<Target> {
  const url = givenUrl?.replace(/\/+$/, '') ?? (await serviceUrl(config))
  if (givenKey !== undefined) return targetOf(url, givenKey)
  const ring = await loadKeyRing(config.DATA_DIR)
  const projectId = findProject(ring, project)
  const kept = ring.projects[projectId]?.[kind === 'write' ? 'writeKey' : 'readKey']
  if (kept !== undefined) return targetOf(url, kept)
  const adminKey = await findAdminKey(config)
  if (adminKey === null)
    throw new AppError(
      'INVALID_REQUEST',
      `no ${kind} key of project ${projectId} is kept here: give --key`,
    )
  if (kind === 'read') return targetOf(url, adminKey, { 'x-project': projectId })
  return targetOf(url, await makeWriteKey({ url, adminKey, projectId }, config.DATA_DIR))
}

async function serviceUrl({ DATA_DIR, HOST, PORT }: Config): Promise<string> {
  const running = await readServiceFile(DATA_DIR)
  return running?.url ?? `http://${HOST}:${PORT}`
}

function findProject({ firstProject, projects }: KeyRing, asked: string | undefined): string {
  if (asked === undefined) {
    if (firstProject !== undefined) return firstProject
    throw new AppError('INVALID_REQUEST', 'which project? give --project, or --key')
  }
  if (asked in projects) return asked
  const named = Object.keys(projects).filter((id) => projects[id]!.name === asked)
  return named.length === 1 ? named[0]! : asked
}

async function makeWriteKey(
  { url, adminKey, projectId }: { url: string; adminKey: string; projectId: string },
  dataDir: string,
): Promise<string> {
  const admin = targetOf(url, adminKey)
  const path = `/v1/projects/${encodeURIComponent(projectId)}`
  const { name } = z.object({ name: z.string() }).parse(await requestJson(admin, path))
  const made = await requestJson(admin, `${path}/keys`, { kind: 'write' })
  const { key } = z.object({ key: z.string() }).parse(made)
  const ring = await loadKeyRing(dataDir)
  const kept = { ...ring.projects[projectId], name, writeKey: key }
  await saveKeyRing(dataDir, { ...ring, projects: { ...ring.projects, [projectId]: kept } })
  return key
}

function targetOf(url: string, key: string, headers: Record<string, string> = {}): Target {
  return { url, key, headers: { ...headers, authorization: `Bearer ${key}` } }
}
