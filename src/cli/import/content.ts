import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { AppError } from '../../error.ts'

const CHUNK_SIZE = 262_144
const NEWLINE = 0x0a

/** What a file holds, unpacked; the ids of its events are made of `hash`. */
export interface Content {
  readonly path: string
  readonly isGzip: boolean
  /** SHA-256. */
  readonly hash: Buffer
  readonly size: number
  readonly lineCount: number
  /** Its first bytes, at most as many as one read gives. */
  readonly head: Buffer
}

/**
 * Reads a file once, whole, in bounded memory. Throws INVALID_REQUEST where it cannot be read or
 * unpacked; the reason of `signal` when that is aborted.
 */
export async function examineContent(path: string, signal: AbortSignal): Promise<Content> {
  const isGzip = await isGzipped(path)
  const hash = createHash('sha256')
  let head: Buffer = Buffer.alloc(0)
  let [size, lineCount, lastByte] = [0, 0, NEWLINE]
  for await (const chunk of unpacked(path, isGzip)) {
    signal.throwIfAborted()
    if (size === 0) head = chunk
    hash.update(chunk)
    size += chunk.length
    lineCount += newlinesIn(chunk)
    lastByte = chunk[chunk.length - 1]!
  }
  if (lastByte !== NEWLINE) lineCount++
  return { path, isGzip, hash: hash.digest(), size, lineCount, head }
}

/** Yields the content as it was examined, in order: what was appended to the file since is left out. */
export async function* readContent({ path, isGzip, size }: Content): AsyncGenerator<Buffer> {
  let leftSize = size
  for await (const chunk of unpacked(path, isGzip)) {
    yield chunk.subarray(0, leftSize)
    leftSize -= chunk.length
    if (leftSize <= 0) return
  }
}

async function isGzipped(path: string): Promise<boolean> {
  try {
    const file = await open(path)
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0)
      return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b
    } finally {
      await file.close()
    }
  } catch (error) {
    throw unreadable(path, error)
  }
}

async function* unpacked(path: string, isGzip: boolean): AsyncGenerator<Buffer> {
  const file = createReadStream(path, { highWaterMark: CHUNK_SIZE })
  let source: Readable = file
  if (isGzip) {
    const gunzip = createGunzip({ chunkSize: CHUNK_SIZE })
    file.once('error', (error) => gunzip.destroy(error))
    source = file.pipe(gunzip)
  }
  try {
    for await (const chunk of source) yield chunk as Buffer
  } catch (error) {
    throw unreadable(path, error)
  } finally {
    file.destroy()
  }
}

function unreadable(path: string, error: unknown): AppError {
  const { code, message } = error as NodeJS.ErrnoException
  const why = code === 'ENOENT' ? 'no such file' : message
  return new AppError('INVALID_REQUEST', `${path}: ${why}`, { cause: error })
}

function newlinesIn(chunk: Buffer): number {
  let count = 0
  for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) count++
  return count
}
