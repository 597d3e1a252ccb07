import { types } from 'cassandra-driver'
import { AppError } from '../error.ts'
import type { Session, Statement } from './session.ts'

const INSERT: Statement = {
  table: 'arrivals',
  operation: 'append',
  cql: 'INSERT INTO arrivals (project, writer, page, sequence, block) VALUES (?, ?, ?, ?, ?)',
}
const READ_PAGE: Statement = {
  table: 'arrivals',
  operation: 'readPage',
  cql: `SELECT sequence, block FROM arrivals
    WHERE project = ? AND writer = ? AND page = ? AND sequence >= ?`,
}
const READ_ONE: Statement = {
  table: 'arrivals',
  operation: 'readOne',
  cql: `SELECT sequence, block FROM arrivals
    WHERE project = ? AND writer = ? AND page = ? AND sequence = ?`,
}
const FIRST: Statement = {
  table: 'arrivals',
  operation: 'first',
  cql: `SELECT sequence FROM arrivals
    WHERE project = ? AND writer = ? AND page = ? AND sequence >= ? LIMIT 1`,
}
const READ_ROWS_MAX = 16 // of 256 KiB

export const SEQUENCES_PER_PAGE = 256

export interface Arrival {
  readonly sequence: number
  readonly block: Buffer
}

export type Arrivals = ReturnType<typeof openArrivals>

/** What each writer took in, numbered by the writer itself: the commit point of an event. */
export function openArrivals(session: Session) {
  return {
    /** Writes a block under its number. Writing it again under the same number is harmless. */
    async append(arrival: {
      readonly projectId: string
      readonly writer: string
      readonly sequence: number
      readonly block: Buffer
    }): Promise<void> {
      const { projectId, writer, sequence, block } = arrival
      await session.execute(INSERT, [
        projectId,
        types.Uuid.fromString(writer),
        pageOf(sequence),
        BigInt(sequence),
        block,
      ])
    },

    /** Returns the block of a number; null where there is none to be seen. */
    async read(projectId: string, writer: string, sequence: number): Promise<Arrival | null> {
      const values = [projectId, types.Uuid.fromString(writer), pageOf(sequence), BigInt(sequence)]
      const [row] = await session.execute(READ_ONE, values)
      return row === undefined ? null : { sequence, block: row['block'] as Buffer }
    },

    /** Returns the first block from `sequence` on, in its page or the next; null where none can be seen. */
    async firstFrom(
      projectId: string,
      writer: string,
      sequence: number,
    ): Promise<Pick<Arrival, 'sequence'> | null> {
      const nextPage = (Math.floor(sequence / SEQUENCES_PER_PAGE) + 1) * SEQUENCES_PER_PAGE
      for (const from of [sequence, nextPage]) {
        const values = [projectId, types.Uuid.fromString(writer), pageOf(from), BigInt(from)]
        const [row] = await session.execute(FIRST, values)
        if (row !== undefined) return { sequence: Number(row['sequence']) }
      }
      return null
    },

    /** Yields the blocks from `sequence` to the end of its page, in order. */
    async *readPage(projectId: string, writer: string, sequence: number): AsyncGenerator<Arrival> {
      const values = [projectId, types.Uuid.fromString(writer), pageOf(sequence), BigInt(sequence)]
      let page: string | null = null
      do {
        const next = await session.page(READ_PAGE, values, { pageRowsMax: READ_ROWS_MAX, page })
        for (const row of next.rows)
          yield { sequence: Number(row['sequence']), block: row['block'] as Buffer }
        page = next.nextPage
      } while (page !== null)
    },
  }
}

/** What is told of a block whose bytes are not as they were written: where it is. */
function damagedArrival(
  at: { readonly projectId: string; readonly writer: string; readonly sequence: number },
  cause: unknown,
): AppError {
  const { projectId, writer, sequence } = at
  const why = cause instanceof Error ? cause.message : String(cause)
  const partition = `arrivals (project '${projectId}', writer ${writer}, page ${pageOf(sequence)})`
  return new AppError('DATA_DAMAGED', `${partition}, sequence ${sequence}: ${why}`, { cause })
}

/** Returns what `decode` makes of a block. Throws DATA_DAMAGED for one that it refuses. */
export function decodedArrival<T>(
  at: { readonly projectId: string; readonly writer: string; readonly sequence: number },
  block: Buffer,
  decode: (block: Buffer) => T,
): T {
  try {
    return decode(block)
  } catch (error) {
    throw damagedArrival(at, error)
  }
}

function pageOf(sequence: number): bigint {
  return BigInt(Math.floor(sequence / SEQUENCES_PER_PAGE))
}
