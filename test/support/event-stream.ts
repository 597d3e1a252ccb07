import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'

export interface StreamMessage {
  readonly event: string
  readonly id?: string
  readonly data: unknown
}

export type EventStream = Awaited<ReturnType<typeof openEventStream>>

/** Listens to server-sent events, on a connection of its own. Messages are kept; comments are counted. */
export async function openEventStream(url: string, key?: string) {
  const outgoing = request(url, {
    agent: false,
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
  })
  outgoing.end()
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  const messages: StreamMessage[] = []
  const ended = new Promise<void>((resolve) => response.once('close', resolve))
  // Where it is closed half-way, or by us.
  response.on('error', () => {})
  let comments = 0
  let text = ''
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    const blocks = (text + chunk).split('\n\n')
    text = blocks.pop()!
    for (const block of blocks)
      if (block.startsWith(':')) comments++
      else messages.push(messageOf(block))
  })
  return {
    status: response.statusCode!,
    headers: response.headers,
    messages,
    ended,
    comments: () => comments,
    /** Stops reading, so that what is sent fills the buffers on the way. */
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void response.destroy(),
  }
}

function messageOf(block: string): StreamMessage {
  const fields = Object.fromEntries(
    block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.replace(/^\w+: /, '')]),
  )
  const { event = 'message', id, data = 'null' } = fields
  return { event, data: JSON.parse(data) as unknown, ...(id === undefined ? {} : { id }) }
}
