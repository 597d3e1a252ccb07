import { types } from 'cassandra-driver'
import pLimit from 'p-limit'
import { AppError } from '../error.ts'
import { CHUNK_BYTES_MAX, cutChunks, openChunk, sealChunk } from '../segment/chunk.ts'
import type { Session, Statement } from './session.ts'

const INSERT: Statement = {
  table: 'objects',
  operation: 'write',
  cql: 'INSERT INTO objects (project, object, column, chunk, data) VALUES (?, ?, ?, ?, ?) USING TTL ?',
}
const READ: Statement = {
  table: 'objects',
  operation: 'read',
  cql: 'SELECT column, chunk, data FROM objects WHERE project = ? AND object = ? AND column IN ?',
}
const READ_CHUNKS: Statement = {
  table: 'objects',
  operation: 'readChunks',
  cql: `SELECT column, chunk, data FROM objects
    WHERE project = ? AND object = ? AND column = ? AND chunk >= ? AND chunk <= ?`,
}
const DELETE: Statement = {
  table: 'objects',
  operation: 'delete',
  cql: 'DELETE FROM objects WHERE project = ? AND object = ?',
}
/** 24 chunks of 240 KiB: below the 8 MiB from which the server warns. */
const READ_ROWS_MAX = 24
/** More are refused by a guardrail. */
const COLUMNS_PER_READ_MAX = 100
const WRITES_IN_FLIGHT_MAX = 16

export interface ObjectId {
  readonly projectId: string
  readonly object: string
}

export interface Chunk {
  readonly column: string
  readonly chunk: number
  /** Valid until the next page is read, in a session whose blobs are views. */
  readonly bytes: Buffer
}

export interface ChunkWrite {
  readonly column: string
  readonly chunk: number
  readonly bytes: Uint8Array
}

export type Objects = ReturnType<typeof openObjects>

/**
 * What is immutable and named by a unique id: segments, pages, lists of users. Each chunk has a checksum;
 * damaged bytes are DATA_DAMAGED, with the partition's name, and never an answer.
 */
export function openObjects(session: Session) {
  async function* pages(statement: Statement, id: ObjectId, rest: unknown[]) {
    const values = [id.projectId, types.Uuid.fromString(id.object), ...rest]
    let page: string | null = null
    do {
      const next = await session.page(statement, values, { pageRowsMax: READ_ROWS_MAX, page })
      yield next.rows.map((row) => verified(id, row))
      page = next.nextPage
    } while (page !== null)
  }

  async function* read(id: ObjectId, columns: readonly string[]): AsyncGenerator<Chunk[]> {
    for (let start = 0; start < columns.length; start += COLUMNS_PER_READ_MAX)
      yield* pages(READ, id, [columns.slice(start, start + COLUMNS_PER_READ_MAX)])
  }

  async function writeChunks(id: ObjectId, chunks: Iterable<ChunkWrite>, ttlS: number) {
    const { projectId } = id
    const object = types.Uuid.fromString(id.object)
    const limit = pLimit(WRITES_IN_FLIGHT_MAX)
    await Promise.all(
      [...chunks].map(({ column, chunk, bytes }) =>
        limit(() =>
          session.execute(INSERT, [projectId, object, column, chunk, sealChunk(bytes), ttlS]),
        ),
      ),
    )
  }

  return {
    /** Writes chunks that are each read by themselves. `ttlS` is 0 for what is to stay. */
    writeChunks,

    /** Writes columns, cut into chunks of 240 KiB. */
    async write(
      id: ObjectId,
      columns: Iterable<readonly [string, Uint8Array]>,
      ttlS: number,
    ): Promise<void> {
      const chunks = [...columns].flatMap(([column, bytes]) =>
        cutChunks(bytes).map((part, chunk) => ({ column, chunk, bytes: part })),
      )
      await writeChunks(id, chunks, ttlS)
    },

    /** Yields the chunks of some columns in the order (column, chunk), one array a page. */
    read,

    /** Returns the bytes of one column that `write` wrote. Throws DATA_DAMAGED where there are none. */
    async readColumn(id: ObjectId, column: string): Promise<Buffer> {
      const chunks: Buffer[] = []
      for await (const page of read(id, [column]))
        for (const { chunk, bytes } of page) {
          if (chunk !== chunks.length) throw damaged(id, `${column} ${chunks.length}`)
          chunks.push(bytes)
        }
      if (chunks.length === 0) throw damaged(id, column)
      return Buffer.concat(chunks)
    },

    /** Yields the chunks of one column from `first` to `last`, both included, in order. */
    readChunks: (
      id: ObjectId,
      column: string,
      { first, last }: { readonly first: number; readonly last: number },
    ): AsyncGenerator<Chunk[]> => pages(READ_CHUNKS, id, [column, first, last]),

    /** Deletes an object whole. Its id must never be read or written again. */
    async delete({ projectId, object }: ObjectId): Promise<void> {
      await session.execute(DELETE, [projectId, types.Uuid.fromString(object)])
    },
  }
}

/** Returns the numbers of the chunks that hold a range of a column, both included. */
export function chunksOf({ offset, bytes }: { readonly offset: number; readonly bytes: number }) {
  return {
    first: Math.floor(offset / CHUNK_BYTES_MAX),
    last: Math.floor((offset + Math.max(bytes, 1) - 1) / CHUNK_BYTES_MAX),
  }
}

/** What is told of bytes that are missing, or not as they were written: where they are. */
export function damaged(id: ObjectId, where: string, cause?: unknown): AppError {
  const why = cause instanceof Error ? cause.message : 'missing'
  const partition = `objects (project '${id.projectId}', object ${id.object})`
  return new AppError('DATA_DAMAGED', `${partition}, ${where}: ${why}`, { cause })
}

function verified(id: ObjectId, row: types.Row): Chunk {
  const column = row['column'] as string
  const chunk = row['chunk'] as number
  try {
    return { column, chunk, bytes: openChunk(row['data'] as Buffer) }
  } catch (error) {
    throw damaged(id, `${column} ${chunk}`, error)
  }
}
