import { types } from 'cassandra-driver'
import type { Session, Statement } from './session.ts'

const INSERT: Statement = {
  table: 'writers',
  operation: 'announce',
  cql: 'INSERT INTO writers (project, writer, written_at) VALUES (?, ?, ?)',
}
const LIST: Statement = {
  table: 'writers',
  operation: 'list',
  cql: 'SELECT writer FROM writers WHERE project = ?',
}

/** Stands for a project in which every writer is announced: no project has this id. */
export const ALL_PROJECTS = '*'

export type Writers = ReturnType<typeof openWriters>

/** Who may have written for a project within the life of its arrivals. */
export function openWriters(session: Session) {
  return {
    async announce(projectId: string, writer: string, nowMs: number): Promise<void> {
      await session.execute(INSERT, [projectId, types.Uuid.fromString(writer), nowMs])
    },

    async list(projectId: string): Promise<string[]> {
      const rows = await session.all(LIST, [projectId])
      return rows.map((row) => String(row['writer']))
    },
  }
}
