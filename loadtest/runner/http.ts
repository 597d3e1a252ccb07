/** `k6/http` on node:http: `asyncRequest` and the callbacks that say which statuses are expected. */
import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { Agent as TlsAgent, request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import { durationMs } from './duration.ts'
import type { Tags } from './metrics.ts'
import type { VirtualUser } from './virtual-user.ts'

const TIMEOUT = '60s'
const GENERIC_ERROR = 1000
const TIMEOUT_ERROR = 1050

const agents = {
  'http:': new Agent({ keepAlive: true }),
  'https:': new TlsAgent({ keepAlive: true }),
}

interface Params {
  readonly headers?: Readonly<Record<string, string>>
  readonly tags?: Tags
  readonly timeout?: string | number
  readonly responseCallback?: Expected
}

type Expected = (status: number) => boolean

interface Exchanged {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
  readonly error: string
  readonly errorCode: number
}

const isSuccess: Expected = (status) => status >= 200 && status < 400

/** The module, for one virtual user. Synchronous requests are left out: one would hold up all users. */
export function httpModule(user: VirtualUser): Record<string, unknown> {
  let expectedByDefault = isSuccess

  async function asyncRequest(
    method: string,
    url: string,
    body?: string | null,
    params: Params = {},
  ) {
    const timings = { blocked: 0, connecting: 0, tls_handshaking: 0 }
    const phases = { sending: 0, waiting: 0, receiving: 0 }
    const answer = await exchange({
      user,
      method,
      url,
      body: body ?? null,
      params,
      timings,
      phases,
    })
    const { status, headers, error, errorCode } = answer
    const isExpected = (params.responseCallback ?? expectedByDefault)(status)
    const tags = {
      ...{ method, url, name: url, status: String(status), proto: 'HTTP/1.1' },
      ...{ expected_response: String(isExpected), ...params.tags },
      ...(error === '' ? {} : { error, error_code: String(errorCode) }),
    }
    const duration = phases.sending + phases.waiting + phases.receiving
    user.emit('http_reqs', 1, tags)
    user.emit('http_req_failed', isExpected ? 0 : 1, tags)
    user.emit('http_req_duration', duration, tags)
    for (const [phase, ms] of Object.entries({ ...timings, ...phases }))
      user.emit(`http_req_${phase}`, ms, tags)
    return {
      ...{ url, status, headers, body: answer.body, error, error_code: errorCode },
      timings: { duration, ...timings, ...phases },
      json: () => JSON.parse(answer.body) as unknown,
    }
  }

  return {
    asyncRequest,
    expectedStatuses,
    setResponseCallback(callback: Expected) {
      expectedByDefault = callback
    },
  }
}

function expectedStatuses(...statuses: (number | { min: number; max: number })[]): Expected {
  return (status) =>
    statuses.some((one) =>
      typeof one === 'number' ? one === status : status >= one.min && status <= one.max,
    )
}

/**
 * Sends one request and waits for all of its answer; without an answer the status is 0. Fills in timings,
 * in milliseconds. Never comes back once the virtual user is interrupted, as in k6.
 */
async function exchange(sent: {
  readonly user: VirtualUser
  readonly method: string
  readonly url: string
  readonly body: string | null
  readonly params: Params
  readonly timings: { blocked: number; connecting: number; tls_handshaking: number }
  readonly phases: { sending: number; waiting: number; receiving: number }
}): Promise<Exchanged> {
  const { user, method, url, body, params, phases } = sent
  const { protocol } = new URL(url)
  const isTls = protocol === 'https:'
  const outgoing = (isTls ? httpsRequest : httpRequest)(url, {
    method,
    agent: agents[isTls ? 'https:' : 'http:'],
    headers: {
      ...(body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
      ...params.headers,
    },
    signal: user.interrupted,
  })
  const timeout = setTimeout(
    () => outgoing.destroy(new Error('request timeout')),
    durationMs(params.timeout ?? TIMEOUT),
  ).unref()
  const clock = timeConnection(outgoing, sent)
  outgoing.end(body ?? undefined)
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve)
      outgoing.once('error', reject)
    })
    phases.waiting = clock.lap()
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    phases.receiving = clock.lap()
    const text = Buffer.concat(chunks).toString('utf8')
    const { statusCode: status = 0, headers } = response
    return { status, headers: namedAsInGo(headers), body: text, error: '', errorCode: 0 }
  } catch (error) {
    if (user.interrupted.aborted) return await new Promise(() => {})
    phases.waiting = clock.lap()
    const { message } = error as Error
    const errorCode = message === 'request timeout' ? TIMEOUT_ERROR : GENERIC_ERROR
    return { status: 0, headers: {}, body: '', error: message, errorCode }
  } finally {
    clearTimeout(timeout)
    clock.countBytes()
  }
}

/** Fills in the timings until the request is sent; `lap` is the time since the last moment noted. */
function timeConnection(
  outgoing: ClientRequest,
  { user, timings, phases }: Parameters<typeof exchange>[0],
) {
  let [lastMs, socket] = [user.run.nowMs(), null as Socket | null]
  let [written, read] = [0, 0]
  const lap = () => {
    const beforeMs = lastMs
    lastMs = user.run.nowMs()
    return lastMs - beforeMs
  }
  outgoing.once('socket', (given) => {
    socket = given
    ;[written, read] = [given.bytesWritten, given.bytesRead]
    timings.blocked = lap()
    if (!given.connecting) return
    given.once('connect', () => (timings.connecting = lap()))
    given.once('secureConnect', () => (timings.tls_handshaking = lap()))
  })
  outgoing.once('finish', () => (phases.sending = lap()))
  return {
    lap,
    /** What went over the wire, heads included; with TLS, what is in it. */
    countBytes(): void {
      if (socket === null) return
      user.emit('data_sent', socket.bytesWritten - written)
      user.emit('data_received', socket.bytesRead - read)
    },
  }
}

/** Header names as k6 tells them: `Retry-After`. */
function namedAsInGo(headers: IncomingMessage['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase()),
      String(value),
    ]),
  )
}
