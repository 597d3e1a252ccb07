import { once } from 'node:events'
import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll } from 'vitest'

/** What becomes of a request: another answer, a delay, or a second copy with another body before it. */
export type Fate =
  | { readonly status: number; readonly body: string }
  | { readonly delayMs: number }
  | { readonly copy: string }

/** Says what becomes of a request; undefined passes it on. */
export type Tampering = (path: string, body: string) => Fate | undefined

/** A way to the service on which requests can be answered by somebody else, or late. Closed at the end of the file. */
export async function openHttpProxy(target: string) {
  const agent = new Agent({ keepAlive: true })
  let tamper: Tampering = () => undefined

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const { url: path = '', method = '', headers } = incoming
    const fate = tamper(path, body.toString('utf8'))
    if (fate !== undefined && 'status' in fate) {
      outgoing.writeHead(fate.status, { 'content-type': 'application/json' })
      outgoing.end(fate.body)
      return
    }
    if (fate !== undefined && 'delayMs' in fate) await delay(fate.delayMs)
    const pass = async (sent: Buffer | string) => {
      const length = { 'content-length': String(Buffer.byteLength(sent)) }
      const passed = request(`${target}${path}`, {
        ...{ agent, method },
        headers: method === 'POST' ? { ...headers, ...length } : headers,
      })
      passed.end(sent)
      const [response] = (await once(passed, 'response')) as [IncomingMessage]
      return response
    }
    if (fate !== undefined && 'copy' in fate) (await pass(fate.copy)).resume()
    const response = await pass(body)
    outgoing.writeHead(response.statusCode ?? 0, response.headers)
    response.pipe(outgoing)
  }

  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  afterAll(() => {
    server.close()
    server.closeAllConnections()
    agent.destroy()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tamper(how: Tampering): void {
      tamper = how
    },
  }
}
