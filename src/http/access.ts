import { createHash, timingSafeEqual } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context, MiddlewareHandler } from 'hono'
import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import type { Grant, Keys } from '../store/keys.ts'
import type { Project, Projects } from '../store/projects.ts'
import { isPassing } from '../store/retry.ts'
import type { AppEnv } from './app-env.ts'

/** What a key is needed for; a read key needs the right to erase. */
type Need = 'write' | 'read' | 'erase'

const KEY_LENGTH_MAX = 512
/** How long another process may go on taking a key that was revoked here. */
export const ACCESS_CACHE_MS = 5_000
const CACHE_ENTRIES_MAX = 10_000
/** A look-up that takes longer than this is not waited for, where the key was known before. */
const STALE_AFTER_MS = 300

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

  async function askerOf(c: Context<AppEnv>, needed: Need) {
    const key = keyOf(c, needed === 'write')
    if (isAdmin(key)) return { project: await projectOfAdmin(c, needed), askedBy: 'admin' }
    const found = await findKey(key)
    if (found === null) throw new AppError('UNAUTHENTICATED', 'no such key')
    const { kind, rights, keyId } = found.grant
    const kindNeeded = needed === 'erase' ? 'read' : needed
    if (kind !== kindNeeded)
      throw new AppError('FORBIDDEN', `this is a ${kind} key; a ${kindNeeded} key is needed`)
    if (needed === 'erase' && !rights.includes('erase'))
      throw new AppError('FORBIDDEN', 'this key has not the right to erase')
    return { project: found.project, askedBy: keyId }
  }

  async function projectOfAdmin(c: Context<AppEnv>, needed: Need): Promise<Project> {
    if (needed === 'write') throw new AppError('FORBIDDEN', 'the admin key stores no events')
    const projectId = c.req.header('x-project')
    if (projectId === undefined)
      throw new AppError('INVALID_REQUEST', 'with the admin key, name the project: X-Project: <id>')
    const project = await knownProjects.get(projectId, () => projects.read(projectId))
    if (project === null) throw new AppError('NOT_FOUND', 'no such project')
    return project
  }

  return {
    /** Lets a key pass that may do this, and sets the project that it belongs to and who asks. */
    allow(needed: Need): MiddlewareHandler<AppEnv> {
      return async (c, next) => {
        const { project, askedBy } = await askerOf(c, needed)
        c.set('project', project)
        c.set('askedBy', askedBy)
        await next()
      }
    },

    /** Whether the key of a request that passed still may; while that cannot be said, it does. */
    async isStillAllowed(c: Context<AppEnv>, needed: Need): Promise<boolean> {
      try {
        await askerOf(c, needed)
        return true
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        return isPassing(error)
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

interface Entry<T> {
  readonly value: Promise<T>
  isSettled: boolean
  untilMs: number
  /** The last that Cassandra said, be it of an earlier look-up. */
  known: { readonly value: T } | null
}

function openCache<T>(clock: Clock) {
  const entries = new Map<string, Entry<T>>()

  function lookUp(key: string, load: () => Promise<T>): Entry<T> {
    const nowMs = clock.monotonicMs()
    const earlier = entries.get(key)
    if (earlier !== undefined && earlier.untilMs > nowMs) return earlier
    const value = load()
    const untilMs = nowMs + ACCESS_CACHE_MS
    const entry: Entry<T> = { value, isSettled: false, untilMs, known: earlier?.known ?? null }
    value.then(
      (found) => Object.assign(entry, { isSettled: true, known: { value: found } }),
      // Looked up again by the next request.
      () => Object.assign(entry, { untilMs: 0 }),
    )
    entries.delete(key)
    if (entries.size >= CACHE_ENTRIES_MAX) entries.delete(entries.keys().next().value!)
    entries.set(key, entry)
    return entry
  }

  return {
    /** While Cassandra is away or slow to answer, what was known goes on: events are then shed at once. */
    async get(key: string, load: () => Promise<T>): Promise<T> {
      const { value, isSettled, known } = lookUp(key, load)
      if (isSettled || known === null) return await value
      return await Promise.race([
        value.catch(() => known.value),
        sleep(STALE_AFTER_MS, known.value, { ref: false }),
      ])
    },
    clear: () => entries.clear(),
  }
}
