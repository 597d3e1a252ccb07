import { types } from 'cassandra-driver'
import { createHash } from 'node:crypto'
import type { Session, Statement } from './session.ts'

const FIND: Statement = {
  table: 'keys',
  operation: 'find',
  cql: 'SELECT project, key_id, kind, rights FROM keys WHERE key_hash = ?',
}
const CLAIM: Statement = {
  table: 'keys',
  operation: 'claim',
  cql: `INSERT INTO keys (key_hash, project, key_id, kind, rights) VALUES (?, ?, ?, ?, ?)
    IF NOT EXISTS`,
}
// Only its own: an id that was wanted for a key, and not claimed, may stand for another's.
const REVOKE: Statement = {
  table: 'keys',
  operation: 'revoke',
  cql: 'DELETE FROM keys WHERE key_hash = ? IF key_id = ?',
}
const LIST: Statement = {
  table: 'project_keys',
  operation: 'list',
  cql: `SELECT key_id, kind, rights, key_hash, also_known_as, created_at, revoked_at FROM project_keys
    WHERE project = ?`,
}
const ENLIST: Statement = {
  table: 'project_keys',
  operation: 'enlist',
  cql: `INSERT INTO project_keys (project, key_id, kind, rights, key_hash, also_known_as, created_at)
    VALUES (?, ?, ?, ?, ?, ?, ?)`,
}
// Not deleted: a project that changes its keys often would be listed through tombstones.
const DELIST: Statement = {
  table: 'project_keys',
  operation: 'delist',
  cql: 'UPDATE project_keys SET revoked_at = toTimestamp(now()) WHERE project = ? AND key_id = ?',
}

export type KeyKind = 'write' | 'read'

/** What the bearer of a key may do, and for whom. */
export interface Grant {
  readonly projectId: string
  readonly keyId: string
  readonly kind: KeyKind
  readonly rights: readonly string[]
}

export interface ListedKey extends Grant {
  /** Ids in the shape of a foreign SDK that stand for this key. */
  readonly alsoKnownAs: readonly string[]
  readonly createdAtMs: number
}

interface EnlistedKey extends ListedKey {
  readonly keyHash: Buffer
}

export type Keys = ReturnType<typeof openKeys>

/** Keys by their hash; a key itself is stored nowhere. */
export function openKeys(session: Session) {
  async function enlisted(projectId: string): Promise<EnlistedKey[]> {
    const rows = await session.all(LIST, [projectId])
    const valid = rows.filter((row) => row['revoked_at'] === null)
    return valid.map((row) => ({
      projectId,
      keyId: row['key_id'] as string,
      kind: row['kind'] as KeyKind,
      rights: (row['rights'] as string[] | null) ?? [],
      keyHash: row['key_hash'] as Buffer,
      alsoKnownAs: (row['also_known_as'] as string[] | null) ?? [],
      createdAtMs: (row['created_at'] as Date).getTime(),
    }))
  }

  async function revokeAll(keys: readonly EnlistedKey[]): Promise<void> {
    for (const { projectId, keyId, keyHash, alsoKnownAs } of keys) {
      for (const hash of [keyHash, ...alsoKnownAs.map(hashOf)])
        await session.compareAndSet(REVOKE, [hash, keyId])
      await session.execute(DELIST, [projectId, keyId])
    }
  }

  return {
    async find(key: string): Promise<Grant | null> {
      const [row] = await session.execute(FIND, [hashOf(key)])
      if (row === undefined) return null
      return {
        projectId: row['project'] as string,
        keyId: row['key_id'] as string,
        kind: row['kind'] as KeyKind,
        rights: (row['rights'] as string[] | null) ?? [],
      }
    },

    /**
     * Makes a key valid, and the ids that stand for it. Returns false, and adds nothing, when one of
     * those ids already stands for another key. Enlisted first, so that what was claimed can be revoked.
     */
    async add(key: string, listed: ListedKey): Promise<boolean> {
      const { projectId, keyId, kind, rights, alsoKnownAs, createdAtMs } = listed
      await session.execute(ENLIST, [
        ...[
          projectId,
          keyId,
          kind,
          setCell(rights),
          hashOf(key),
          setCell(alsoKnownAs),
          createdAtMs,
        ],
      ])
      const claimed: Buffer[] = []
      for (const hash of [key, ...alsoKnownAs].map(hashOf)) {
        if (await session.compareAndSet(CLAIM, [hash, projectId, keyId, kind, setCell(rights)])) {
          claimed.push(hash)
          continue
        }
        for (const mine of claimed) await session.compareAndSet(REVOKE, [mine, keyId])
        await session.execute(DELIST, [projectId, keyId])
        return false
      }
      return true
    },

    /** Returns the keys of a project, oldest first. */
    async list(projectId: string): Promise<ListedKey[]> {
      const keys = await enlisted(projectId)
      return keys
        .map(({ keyHash: _, ...listed }) => listed)
        .sort((a, b) => a.createdAtMs - b.createdAtMs)
    },

    /** Returns whether the project had this key. */
    async revoke(projectId: string, keyId: string): Promise<boolean> {
      const keys = (await enlisted(projectId)).filter((key) => key.keyId === keyId)
      await revokeAll(keys)
      return keys.length > 0
    },

    async revokeOfProject(projectId: string): Promise<void> {
      await revokeAll(await enlisted(projectId))
    },
  }
}

// The driver writes an empty set as null, which is a tombstone.
function setCell(values: readonly string[]): unknown {
  return values.length === 0 ? types.unset : values
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
