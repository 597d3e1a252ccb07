import { once } from 'node:events'
import { Agent, request, type IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:net'

const agent = new Agent({ keepAlive: true, maxSockets: 256 })

export interface Sent {
  readonly method?: string
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Bytes and text are sent as they are, anything else as JSON. */
  readonly body?: unknown
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body, parsed. Throws where it is no JSON. */
  readonly json: <T = Record<string, unknown>>() => T
}

/** Sends one request: POST where there is a body, else GET. Rejects when there is no answer. */
export async function send(url: string, sent: Sent = {}): Promise<Answer> {
  const body = bytesOf(sent.body)
  const outgoing = request(url, {
    agent,
    method: sent.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(sent.key === undefined ? {} : { authorization: `Bearer ${sent.key}` }),
      ...(body === undefined ? {} : { 'content-length': String(body.length) }),
      ...sent.headers,
    },
  })
  outgoing.end(body)
  return await new Promise((resolve, reject) => {
    outgoing.once('error', reject)
    outgoing.once('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.once('error', reject)
      response.once('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        const { statusCode = 0, headers } = response
        resolve({ status: statusCode, headers, text, json: <T>() => JSON.parse(text) as T })
      })
    })
  })
}

/**
 * Writes bytes to a connection of their own and ends it, whatever they say of themselves. Returns the
 * status that was answered; null when the connection was closed without an answer.
 */
export async function sendRaw(url: string, bytes: Buffer): Promise<number | null> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  // A reset is an answer too: the status before it, if any, is what counts.
  socket.on('error', () => socket.destroy())
  socket.end(bytes)
  await once(socket, 'close')
  const match = /^HTTP\/1\.1 (\d{3})/.exec(Buffer.concat(chunks).toString('latin1'))
  return match === null ? null : Number(match[1])
}

function bytesOf(body: unknown): Buffer | undefined {
  if (body === undefined || body instanceof Buffer) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}
