import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { systemClock as clock } from '../clock.ts'
import { AppError, type ErrorCode } from '../error.ts'

const TIMEOUT_MS = 900_000
const TAKE_TIMEOUT_MS = 60_000
const BACK_OFF_MS_MIN = 250
const BACK_OFF_MS_MAX = 30_000
/** Too many requests, a gateway without its service, overloaded, a gateway out of patience. */
const TEMPORARY = [429, 502, 503, 504]

const Problem = z.object({
  code: z.string(),
  detail: z.string(),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).default([]),
})

/** Where to send a request, and with what key. `headers` has the key already. */
export interface Target {
  readonly url: string
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  /** Null for a key that was given: only the service knows whose it is. */
  readonly projectId: string | null
}

/** Sends a request and returns the parsed answer, null where it has no body. Throws AppError with what the service says is wrong. */
export async function requestJson(
  target: Pick<Target, 'url' | 'headers'>,
  path: string,
  body?: unknown,
  method = body === undefined ? 'GET' : 'POST',
): Promise<unknown> {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const sent = { method, body: text }
  const exchange = await attempt(target, path, sent, AbortSignal.timeout(TIMEOUT_MS))
  if ('answer' in exchange) return exchange.answer
  throw exchange.error
}

/**
 * Posts a body until the service takes or refuses it: while it is away or has too much to do, the same is
 * sent again, at growing intervals or when the service says. So only for what may be sent twice. `note`
 * is told why it waits. Throws AppError where it is refused, the reason of `signal` when that is aborted.
 */
export async function requestUntilTaken(
  target: Pick<Target, 'url' | 'headers'>,
  path: string,
  body: string,
  { signal, note }: { readonly signal: AbortSignal; readonly note: (text: string) => void },
): Promise<unknown> {
  for (let tries = 0; ; tries++) {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(TAKE_TIMEOUT_MS)])
    const exchange = await attempt(target, path, { method: 'POST', body }, patience)
    signal.throwIfAborted()
    if ('answer' in exchange) return exchange.answer
    if (!exchange.isTemporary) throw exchange.error
    const waitMs = exchange.retryAfterMs ?? backOffMs(tries)
    note(`${exchange.error.message}; trying again until it is taken (Ctrl-C ends)`)
    await delay(waitMs, undefined, { signal })
  }
}

/** Throws STORE_UNAVAILABLE where nothing listens at the url. */
export async function assertReachable({ url }: Pick<Target, 'url'>): Promise<void> {
  const exchange = await attempt(
    { url, headers: {} },
    '/healthz',
    { method: 'GET' },
    AbortSignal.timeout(TAKE_TIMEOUT_MS),
  )
  if (!('answer' in exchange) && exchange.isTemporary) throw exchange.error
}

type Exchange =
  | { readonly answer: unknown }
  | {
      readonly error: AppError
      readonly isTemporary: boolean
      readonly retryAfterMs: number | null
    }

async function attempt(
  { url, headers }: Pick<Target, 'url' | 'headers'>,
  path: string,
  { method, body }: { readonly method: string; readonly body?: string | undefined },
  signal: AbortSignal,
): Promise<Exchange> {
  try {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
      signal,
    })
    return read(response, await response.text(), url)
  } catch (cause) {
    const message = `nothing answers at ${url}: is it running? \`npm start\``
    const error = new AppError('STORE_UNAVAILABLE', message, { cause })
    return { error, isTemporary: true, retryAfterMs: null }
  }
}

function read({ ok, status, headers }: Response, text: string, url: string): Exchange {
  if (status === 204) return { answer: null }
  const json = parsed(text)
  if (ok && json !== undefined) return { answer: json }
  const { success, data } = Problem.safeParse(json)
  // Neither an answer nor a problem: something else listens there, or stands between.
  const error = success
    ? new AppError(data.code as ErrorCode, data.detail, { faults: data.errors })
    : new AppError('INTERNAL', `${url} answers ${status}, and not as the service does`)
  const retryAfterMs = retryAfterMsOf(headers.get('retry-after'))
  return { error, isTemporary: TEMPORARY.includes(status), retryAfterMs }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

// RFC 9110, section 10.2.3: seconds or a date.
function retryAfterMsOf(header: string | null): number | null {
  if (header === null) return null
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - clock.nowMs()
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), BACK_OFF_MS_MAX)
}

// Half of it by chance, so that requests refused together do not come again together.
function backOffMs(tries: number): number {
  const most = Math.min(BACK_OFF_MS_MIN * 2 ** tries, BACK_OFF_MS_MAX)
  return (most * (1 + Math.random())) / 2
}
