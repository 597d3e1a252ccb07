import { createAdaptorServer } from '@hono/node-server'
import type { Hono } from 'hono'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AppError } from '../error.ts'
import type { AppEnv } from './app-env.ts'

const HEADERS_TIMEOUT_MS = 15_000
const REQUEST_TIMEOUT_MS = 60_000
const KEEP_ALIVE_TIMEOUT_MS = 65_000
const HEADERS_BYTES_MAX = 16_384
const UPLOAD_AFTER_ANSWER_MS_MAX = 3_000

/** Listens for requests; `url` is where this machine finds it. Throws CONFLICT when the port is taken. */
export async function listen(
  app: Hono<AppEnv>,
  { host, port }: { readonly host: string; readonly port: number },
) {
  const server = createAdaptorServer({
    fetch: app.fetch,
    serverOptions: { maxHeaderSize: HEADERS_BYTES_MAX },
  }) as Server
  server.headersTimeout = HEADERS_TIMEOUT_MS
  server.requestTimeout = REQUEST_TIMEOUT_MS
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS
  server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    outgoing.once('finish', () => endUpload(incoming))
  })
  server.listen(port, host)
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error
    throw new AppError(
      'CONFLICT',
      `port ${port} of ${host} is in use: choose another with PORT, or any free one with PORT=0`,
      { cause: error },
    )
  })
  const address = server.address() as AddressInfo
  return {
    url: `http://${shownHost(address)}:${address.port}`,

    /** Takes no more requests, and waits for those in flight until `giveUp`. */
    async close(giveUp: AbortSignal): Promise<void> {
      const closed = once(server, 'close')
      giveUp.addEventListener('abort', () => server.closeAllConnections())
      server.close()
      // A connection that is idle only after its last answer would otherwise be kept alive.
      server.keepAliveTimeout = 1
      const idle = setInterval(() => server.closeIdleConnections(), 50)
      await closed
      clearInterval(idle)
    },
  }
}

/** The host of a URL. An address that stands for all of this machine is none to go to. */
function shownHost({ family, address }: AddressInfo): string {
  if (family === 'IPv6') return address === '::' ? '[::1]' : `[${address}]`
  return address === '0.0.0.0' ? '127.0.0.1' : address
}

/** Ends an upload that goes on after its answer: it is read for a while, so that the answer is too. */
function endUpload(incoming: IncomingMessage): void {
  if (incoming.complete) return
  const timer = setTimeout(() => {
    if (!incoming.complete) incoming.destroy()
  }, UPLOAD_AFTER_ANSWER_MS_MAX)
  timer.unref()
  incoming.once('close', () => clearTimeout(timer))
}
