import { randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import type { KeyKind, Keys } from '../store/keys.ts'
import type { Project, Projects as ProjectTable } from '../store/projects.ts'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const PROJECT_ID_LENGTH = 12
const KEY_ID_LENGTH = 10
/** 62^32: 190 bits. */
const SECRET_LENGTH = 32

type Change = { readonly [Name in keyof Settings]?: Settings[Name] | undefined }
type Settings = Pick<Project, 'name' | 'timeZone' | 'retentionDays' | 'weekStart'>

export type Projects = ReturnType<typeof openProjectUpkeep>

/** Makes, changes and destroys projects, and their keys. */
export function openProjectUpkeep(dependencies: {
  readonly projects: ProjectTable
  readonly keys: Keys
  readonly clock: Clock
}) {
  const { projects, keys, clock } = dependencies

  async function existing(projectId: string): Promise<Project> {
    const project = await projects.read(projectId)
    if (project === null) throw new AppError('NOT_FOUND', 'no such project')
    return project
  }

  async function newKey(
    projectId: string,
    { kind, rights, alsoKnownAs }: NewKey,
  ): Promise<{ keyId: string; key: string }> {
    const key = `tf_${kind === 'write' ? 'w' : 'r'}_${randomBase62(SECRET_LENGTH)}`
    const keyId = randomBase62(KEY_ID_LENGTH)
    const createdAtMs = clock.nowMs()
    const ids = [...new Set(alsoKnownAs)] // Claimed one by one, and each can be claimed once.
    const listed = { projectId, keyId, kind, rights, alsoKnownAs: ids, createdAtMs }
    if (await keys.add(key, listed)) return { keyId, key }
    throw new AppError('CONFLICT', 'alsoKnownAs: one of these ids already stands for another key')
  }

  return {
    async create(settings: Settings) {
      const projectId = randomBase62(PROJECT_ID_LENGTH)
      const project = { projectId, ...settings, createdAtMs: clock.nowMs() }
      await projects.write(project)
      const write = await newKey(projectId, { kind: 'write', rights: [], alsoKnownAs: [] })
      const read = await newKey(projectId, { kind: 'read', rights: [], alsoKnownAs: [] })
      return { ...shown(project), writeKey: write.key, readKey: read.key }
    },

    async list() {
      return (await projects.list()).map(shown)
    },

    async read(projectId: string) {
      return shown(await existing(projectId))
    },

    /** What is stored already keeps the life that it was given; a shorter retention cuts every answer. */
    async change(projectId: string, change: Change) {
      const old = await existing(projectId)
      const project = {
        ...old,
        name: change.name ?? old.name,
        timeZone: change.timeZone ?? old.timeZone,
        retentionDays: change.retentionDays ?? old.retentionDays,
        weekStart: change.weekStart ?? old.weekStart,
      }
      await projects.write(project)
      return shown(project)
    },

    /** Its keys are void at once; its rows leave by their TTL. */
    async destroy(projectId: string): Promise<void> {
      await existing(projectId)
      await projects.destroy(projectId, clock.nowMs())
      await keys.revokeOfProject(projectId)
    },

    async listKeys(projectId: string) {
      await existing(projectId)
      return (await keys.list(projectId)).map(({ createdAtMs, projectId: _, ...key }) => ({
        ...key,
        createdAt: new Date(createdAtMs).toISOString(),
      }))
    },

    /** Returns the key itself: the only time that it is told. */
    async addKey(projectId: string, asked: NewKey) {
      await existing(projectId)
      const { keyId, key } = await newKey(projectId, asked)
      return { keyId, key, kind: asked.kind, rights: asked.rights, alsoKnownAs: asked.alsoKnownAs }
    },

    async revokeKey(projectId: string, keyId: string): Promise<void> {
      await existing(projectId)
      if (!(await keys.revoke(projectId, keyId))) throw new AppError('NOT_FOUND', 'no such key')
    },
  }
}

interface NewKey {
  readonly kind: KeyKind
  readonly rights: readonly string[]
  readonly alsoKnownAs: readonly string[]
}

function shown({ projectId, createdAtMs, ...settings }: Project) {
  return { id: projectId, ...settings, createdAt: new Date(createdAtMs).toISOString() }
}

/** Draws without bias: bytes from 248 on, the last multiple of 62, are drawn again. */
export function randomBase62(length: number): string {
  let text = ''
  while (text.length < length)
    for (const byte of randomBytes(length)) if (byte < 248) text += BASE62[byte % 62]
  return text.slice(0, length)
}
