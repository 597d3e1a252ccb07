import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { AppError } from '../error.ts'
import { codeOf } from './os-process.ts'

// Below the range that systems draw the ports of outgoing connections from: such a one would be gone
// again by the time that a starting JVM listens on it.
const PORT_MIN = 10_240
const PORT_MAX = 32_767
const TRIES_MAX = 100

/** Returns a port of 127.0.0.1 that nobody listens on, and that is none of `taken`. */
export async function freePort(taken: readonly number[] = []): Promise<number> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const port = randomInt(PORT_MIN, PORT_MAX + 1)
    if (!taken.includes(port) && (await isFree(port))) return port
  }
  throw new AppError('EMBEDDED_UNAVAILABLE', 'no free port was found on 127.0.0.1')
}

/** Returns the port that Cassandra is to listen on: the one asked for, or any free one for 0. */
export async function nativePort(asked: number): Promise<number> {
  if (asked === 0) return freePort()
  if (await isFree(asked)) return asked
  throw new AppError(
    'EMBEDDED_UNAVAILABLE',
    `port ${asked} is in use by another program: free it, or set CASSANDRA_PORT (0 picks a free one)`,
  )
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE') return false
    throw error
  }
  server.close()
  await once(server, 'close')
  return true
}
