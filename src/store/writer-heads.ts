import { types } from 'cassandra-driver'
import type { Session, Statement } from './session.ts'

const WRITE: Statement = {
  table: 'writer_heads',
  operation: 'beat',
  cql: 'INSERT INTO writer_heads (writer, beat, beat_at, heads) VALUES (?, ?, ?, ?)',
}
const READ: Statement = {
  table: 'writer_heads',
  operation: 'read',
  cql: 'SELECT beat, beat_at, heads FROM writer_heads WHERE writer = ?',
}

/** How far a writer is in one project. Sequences count from 0; -1 is none. */
export interface ProjectHead {
  readonly lastSequence: number
  /** The rows of every sequence up to this one are written. */
  readonly rowsWholeThrough: number
}

export interface WriterHead {
  readonly beat: number
  readonly beatAtMs: number
  readonly projects: ReadonlyMap<string, ProjectHead>
}

export type WriterHeads = ReturnType<typeof openWriterHeads>

/** A writer's heartbeat and how far it has come; one row a writer, overwritten each second. */
export function openWriterHeads(session: Session) {
  return {
    async write(writer: string, head: WriterHead): Promise<void> {
      const heads: Record<string, types.Tuple> = {}
      for (const [projectId, { lastSequence, rowsWholeThrough }] of head.projects)
        heads[projectId] = new types.Tuple(BigInt(lastSequence), BigInt(rowsWholeThrough))
      await session.execute(WRITE, [
        types.Uuid.fromString(writer),
        BigInt(head.beat),
        head.beatAtMs,
        heads,
      ])
    },

    /** Returns null for a writer that never beat, or not within 30 days. */
    async read(writer: string): Promise<WriterHead | null> {
      const [row] = await session.execute(READ, [types.Uuid.fromString(writer)])
      if (row === undefined) return null
      const heads = (row['heads'] ?? {}) as Record<string, types.Tuple>
      const projects = Object.entries(heads).map(([projectId, tuple]): [string, ProjectHead] => [
        projectId,
        { lastSequence: Number(tuple.get(0)), rowsWholeThrough: Number(tuple.get(1)) },
      ])
      return {
        beat: Number(row['beat']),
        beatAtMs: (row['beat_at'] as Date).getTime(),
        projects: new Map(projects),
      }
    },
  }
}
