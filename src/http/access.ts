import { createHash, timingSafeEqual } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import type { Grant, Keys } from '../store/keys.ts'
import type { Project, Projects } from '../store/projects.ts'
import type { AppEnv } from './app-env.ts'

const KEY_LENGTH_MAX = 512
/** How long another process may go on taking a key that was revoked here. */
export const ACCESS_CACHE_MS = 5_000
const CACHE_ENTRIES_MAX = 10_000

interface KnownKey {
  readonly grant: Grant
  readonly project: Project
}

export type Access = ReturnType<typeof openAccess>

/** Who may do what. Keys and their projects are remembered for seconds. */
export function openAccess(dependencies: {
  readonly keys: Keys
  readonly projects: Projects
  readonly adminKey: string
  readonly clock: Clock
}) {
  const { keys, projects, adminKey, clock } = dependencies
  const adminHash = hashOf(adminKey)
  const known = openCache<KnownKey | null>(clock)
  const knownProjects = openCache<Project | null>(clock)

  const isAdmin = (key: string) => timingSafeEqual(hashOf(key), adminHash)

  function findKey(key: string): Promise<KnownKey | null> {
    return known.get(key, async () => {
      const grant = await keys.find(key)
      const project = grant === null ? null : await projects.read(grant.projectId)
      return grant === null || project === null ? null : { grant, project }
    })
  }

  async function projectFor(c: Context<AppEnv>, needed: 'write' | 'read'): Promise<Project> {
    const key = keyOf(c, needed === 'write')
    if (isAdmin(key)) return await projectOfAdmin(c, needed)
    const found = await findKey(key)
    if (found === null) throw new AppError('UNAUTHENTICATED', 'no such key')
    if (found.grant.kind !== needed)
      throw new AppError(
        'FORBIDDEN',
        `this is a ${found.grant.kind} key; a ${needed} key is needed`,
      )
    return found.project
  }

  async function projectOfAdmin(c: Context<AppEnv>, needed: 'write' | 'read'): Promise<Project> {
    if (needed === 'write') throw new AppError('FORBIDDEN', 'the admin key stores no events')
    const projectId = c.req.header('x-project')
    if (projectId === undefined)
      throw new AppError('INVALID_REQUEST', 'with the admin key, name the project: X-Project: <id>')
    const project = await knownProjects.get(projectId, () => projects.read(projectId))
    if (project === null) throw new AppError('NOT_FOUND', 'no such project')
    return project
  }

  return {
    /** Lets a write or a read key pass, and sets the project that it belongs to. */
    allow(needed: 'write' | 'read'): MiddlewareHandler<AppEnv> {
      return async (c, next) => {
        c.set('project', await projectFor(c, needed))
        await next()
      }
    },

    /** Lets the admin key pass. */
    allowAdmin(): MiddlewareHandler<AppEnv> {
      return async (c, next) => {
        const key = keyOf(c, false)
        if (!isAdmin(key)) {
          if ((await findKey(key)) === null) throw new AppError('UNAUTHENTICATED', 'no such key')
          throw new AppError('FORBIDDEN', 'the admin key is needed')
        }
        await next()
      }
    },

    /** Makes what was just changed hold at once in this process. */
    forget(): void {
      known.clear()
      knownProjects.clear()
    },
  }
}

function keyOf(c: Context<AppEnv>, isQueryAllowed: boolean): string {
  const bearer = /^Bearer +(\S+) *$/i.exec(c.req.header('authorization') ?? '')?.[1]
  const key =
    bearer ?? c.req.header('x-write-key') ?? (isQueryAllowed ? c.req.query('key') : undefined)
  if (key === undefined || key === '' || key.length > KEY_LENGTH_MAX)
    throw new AppError('UNAUTHENTICATED', 'send a key: Authorization: Bearer <key>')
  return key
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

function openCache<T>(clock: Clock) {
  const entries = new Map<string, { readonly value: Promise<T>; readonly untilMs: number }>()
  return {
    async get(key: string, load: () => Promise<T>): Promise<T> {
      const nowMs = clock.monotonicMs()
      const entry = entries.get(key)
      if (entry !== undefined && entry.untilMs > nowMs) return await entry.value
      entries.delete(key)
      if (entries.size >= CACHE_ENTRIES_MAX) entries.delete(entries.keys().next().value!)
      const value = load()
      entries.set(key, { value, untilMs: nowMs + ACCESS_CACHE_MS })
      value.catch(() => entries.delete(key))
      return await value
    },
    clear: () => entries.clear(),
  }
}
