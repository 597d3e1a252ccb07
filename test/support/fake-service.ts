import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll } from 'vitest'

export interface SentEvent {
  readonly id: string
  readonly event: string
  readonly userId?: string
  readonly time: number
  readonly properties: Record<string, unknown>
}

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** The body as text. */
  readonly body: string
}

type Answer = readonly [status: number, body: unknown, headers?: Record<string, string>]

type Misbehaviour = (request: Asked) => Said | Promise<Said>
type Said = Answer | 'hang up' | undefined

export type FakeService = Awaited<ReturnType<typeof openFakeService>>

/**
 * Listens as the service does (api.md) and keeps the events that it takes by their ids. `misbehave` may
 * answer a request instead; with 'hang up' the connection is closed. Closed at the end of the file.
 */
export async function openFakeService() {
  const asked: Asked[] = []
  const events = new Map<string, SentEvent>()
  let misbehave: Misbehaviour = () => undefined

  function taken({ body }: Asked): Answer {
    const sent = (JSON.parse(body) as { events: SentEvent[] }).events
    const rejected = sent.flatMap(({ event }, index) =>
      event === 'refuse me' ? [{ index, code: 'INVALID_EVENT', message: 'as asked' }] : [],
    )
    for (const event of sent) if (event.event !== 'refuse me') events.set(event.id, event)
    return [200, { accepted: sent.length - rejected.length, rejected }]
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('utf8')
    const { method = '', url: path = '', headers } = request
    const one = { method, path, headers, body }
    if (path !== '/healthz') asked.push(one)
    const said = path === '/healthz' ? undefined : await misbehave(one)
    if (said === 'hang up') {
      response.destroy()
      return
    }
    const [status, json, more = {}] =
      said ?? (path === '/v1/events' ? taken(one) : ([200, { status: 'alive' }] as const))
    response.writeHead(status, { 'content-type': 'application/json', ...more })
    response.end(typeof json === 'string' ? json : JSON.stringify(json))
  }

  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  afterAll(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    events,
    /** Takes and forgets all that came before. */
    reset(how: Misbehaviour = () => undefined): void {
      asked.length = 0
      events.clear()
      misbehave = how
    },
  }
}

/** An answer as RFC 9457 has it. */
export function problem(status: number, code: string, headers: Record<string, string> = {}) {
  const body = { type: 'about:blank', title: 'no', status, detail: `because of ${code}`, code }
  return [status, body, headers] as const
}
