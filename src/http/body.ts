import pLimit from 'p-limit'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib'
import type { Context } from 'hono'
import { AppError } from '../error.ts'
import type { AppEnv } from './app-env.ts'

export const BODY_BYTES_MAX = 1_048_576
export const UNPACKED_BYTES_MAX = 10 * 1_048_576
const UNPACKINGS_MAX = 4

const unpack = {
  gzip: promisify(gunzip),
  br: promisify(brotliDecompress),
  zlib: promisify(inflate),
  deflate: promisify(inflateRaw),
}

export type Bodies = ReturnType<typeof openBodies>

/** Reads request bodies, unpacked, within a limit for each and one for all that are held at a time. */
export function openBodies(bytesInFlightMax: number) {
  const unpackLimit = pLimit(UNPACKINGS_MAX)
  let bytesInFlight = 0

  function hold(bytes: number): void {
    bytesInFlight += bytes
    if (bytesInFlight > bytesInFlightMax)
      throw new AppError('OVERLOADED', 'too many bodies are being read')
  }

  return {
    /**
     * Runs `work` with the body. Throws BODY_TOO_LARGE, UNSUPPORTED_ENCODING, OVERLOADED, or
     * INVALID_REQUEST for one that was cut short or does not unpack.
     */
    async withBody<T>(c: Context<AppEnv>, work: (body: Buffer) => Promise<T>): Promise<T> {
      let heldBytes = 0
      const holdMore = (bytes: number) => {
        heldBytes += bytes
        hold(bytes)
      }
      try {
        const encoding = encodingOf(c)
        const packed = await readBody(c, holdMore)
        if (encoding === null) return await work(packed)
        // Few at a time, and each counted before the next begins: so the limit holds, whatever they
        // unpack to.
        const body = await unpackLimit(async () => {
          hold(0) // Throws where others have filled it meanwhile.
          const unpackedBody = await unpacked(packed, encoding)
          holdMore(unpackedBody.length)
          return unpackedBody
        })
        return await work(body)
      } finally {
        bytesInFlight -= heldBytes
      }
    },
  }
}

type Encoding = 'gzip' | 'deflate' | 'br'

function encodingOf(c: Context<AppEnv>): Encoding | null {
  const encoding = (c.req.header('content-encoding') ?? 'identity').trim().toLowerCase()
  if (encoding === 'identity' || encoding === '') return null
  if (encoding === 'x-gzip') return 'gzip'
  if (encoding === 'gzip' || encoding === 'deflate' || encoding === 'br') return encoding
  throw new AppError('UNSUPPORTED_ENCODING', 'gzip, deflate and br are understood')
}

function readBody(c: Context<AppEnv>, hold: (bytes: number) => void): Promise<Buffer> {
  const { incoming } = c.env
  // Gone while its key was looked up: no event will tell of it any more.
  if (incoming.destroyed) throw cutShort()
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    let isRefused = false
    incoming.on('data', (chunk: Buffer) => {
      // What is left of a refused body is let run out, so that the answer can be read.
      if (isRefused) return
      bytes += chunk.length
      try {
        if (bytes > BODY_BYTES_MAX)
          throw new AppError('BODY_TOO_LARGE', `a body takes at most ${BODY_BYTES_MAX} bytes`)
        hold(chunk.length)
        chunks.push(chunk)
      } catch (error) {
        isRefused = true
        reject(error as Error)
      }
    })
    incoming.once('end', () => resolve(Buffer.concat(chunks)))
    incoming.once('error', (cause) => reject(cutShort(cause)))
    incoming.once('close', () => {
      if (!incoming.readableEnded) reject(cutShort())
    })
  })
}

function cutShort(cause?: Error): AppError {
  return new AppError('INVALID_REQUEST', 'the body was cut short', { cause })
}

async function unpacked(packed: Buffer, encoding: Encoding): Promise<Buffer> {
  const format = encoding === 'deflate' && hasZlibHeader(packed) ? 'zlib' : encoding
  try {
    return await unpack[format](packed, { maxOutputLength: UNPACKED_BYTES_MAX })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw new AppError('BODY_TOO_LARGE', `unpacked, at most ${UNPACKED_BYTES_MAX} bytes`)
    throw new AppError('INVALID_REQUEST', `the body is not ${encoding}`, { cause: error })
  }
}

// `deflate` means zlib's format by RFC 9110, and is bare deflate where some clients send it.
function hasZlibHeader(packed: Buffer): boolean {
  return packed.length > 1 && (packed[0]! & 0x0f) === 8 && packed.readUInt16BE(0) % 31 === 0
}
