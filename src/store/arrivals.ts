import { types } from 'cassandra-driver'
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
const READ_ROWS_MAX = 16 // of 256 KiB

const SEQUENCES_PER_PAGE = 256

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

function pageOf(sequence: number): bigint {
  return BigInt(Math.floor(sequence / SEQUENCES_PER_PAGE))
}
