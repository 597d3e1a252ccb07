import { types } from 'cassandra-driver'
import type { Session, Statement } from './session.ts'

const INSERT: Statement = {
  table: 'loose_objects',
  operation: 'note',
  cql: 'INSERT INTO loose_objects (project, hour, note, objects) VALUES (?, ?, ?, ?)',
}
const LIST: Statement = {
  table: 'loose_objects',
  operation: 'list',
  cql: 'SELECT objects FROM loose_objects WHERE project = ? AND hour = ?',
}
const DELETE: Statement = {
  table: 'loose_objects',
  operation: 'delete',
  cql: 'DELETE FROM loose_objects WHERE project = ? AND hour = ?',
}
const ID_BYTES = 16
const PAGE_ROWS_MAX = 500

export type LooseObjects = ReturnType<typeof openLooseObjects>

/** Objects that nothing may lead to: noted before they are written, and before they are given up. */
export function openLooseObjects(session: Session) {
  return {
    async note(projectId: string, hour: number, objects: readonly string[]): Promise<void> {
      if (objects.length === 0) return
      const ids = Buffer.from(objects.join('').replaceAll('-', ''), 'hex')
      await session.execute(INSERT, [projectId, BigInt(hour), types.Uuid.random(), ids])
    },

    /** Returns what was noted in an hour, each once. */
    async list(projectId: string, hour: number): Promise<string[]> {
      const rows = await session.all(LIST, [projectId, BigInt(hour)], PAGE_ROWS_MAX)
      return [...new Set(rows.flatMap((row) => idsOf(row['objects'] as Buffer)))]
    },

    /** Forgets an hour's notes, when they are dealt with. */
    async forget(projectId: string, hour: number): Promise<void> {
      await session.execute(DELETE, [projectId, BigInt(hour)])
    },
  }
}

function idsOf(bytes: Buffer): string[] {
  return Array.from({ length: bytes.length / ID_BYTES }, (_, index) =>
    String(new types.Uuid(bytes.subarray(ID_BYTES * index, ID_BYTES * (index + 1)))),
  )
}
