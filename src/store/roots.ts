import { types } from 'cassandra-driver'
import type { Session, Statement } from './session.ts'

const READ: Statement = {
  table: 'roots',
  operation: 'read',
  cql: 'SELECT version, root FROM roots WHERE project = ?',
}
const READ_SETTLED: Statement = {
  ...READ,
  operation: 'readSettled',
  consistency: types.consistencies.localSerial,
}
const CREATE: Statement = {
  table: 'roots',
  operation: 'create',
  cql: 'INSERT INTO roots (project, version, root) VALUES (?, ?, ?) IF NOT EXISTS',
}
const PUBLISH: Statement = {
  table: 'roots',
  operation: 'publish',
  cql: 'UPDATE roots SET version = ?, root = ? WHERE project = ? IF version = ?',
}

export interface StoredRoot {
  /** Counts up by one a publication; 0 where nothing is published. */
  readonly version: number
  readonly bytes: Buffer | null
}

export type Roots = ReturnType<typeof openRoots>

/** What is published of each project: changed by compare-and-set only. */
export function openRoots(session: Session) {
  async function read(statement: Statement, projectId: string): Promise<StoredRoot> {
    const [row] = await session.execute(statement, [projectId])
    if (row === undefined) return { version: 0, bytes: null }
    return { version: Number(row['version']), bytes: row['root'] as Buffer }
  }

  return {
    /** What was published last, as far as a quorum knows. */
    read: (projectId: string) => read(READ, projectId),

    /** The same, after every publication on its way is settled: in, or never. */
    readSettled: (projectId: string) => read(READ_SETTLED, projectId),

    /**
     * Publishes over `version`; returns whether that was the version. Throws OVERLOADED or
     * STORE_UNAVAILABLE where the outcome is unknown.
     */
    async publish(projectId: string, version: number, bytes: Buffer): Promise<boolean> {
      const next = BigInt(version + 1)
      return version === 0
        ? await session.compareAndSet(CREATE, [projectId, next, bytes])
        : await session.compareAndSet(PUBLISH, [next, bytes, projectId, BigInt(version)])
    },
  }
}
