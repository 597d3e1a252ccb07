import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { AppError, type ErrorCode, type QueryFault } from '../error.ts'
import type { Logger } from '../log.ts'
import type { AppEnv } from './app-env.ts'

const RETRY_AFTER_S = '1'

// No code compiles without its status and title.
export const ANSWERS: Record<ErrorCode, readonly [number, string]> = {
  INVALID_REQUEST: [400, 'The request cannot be understood'],
  INVALID_QUERY: [400, 'The question cannot be understood'],
  UNAUTHENTICATED: [401, 'A valid key is required'],
  FORBIDDEN: [403, 'This key may not do this'],
  NOT_FOUND: [404, 'There is no such thing'],
  METHOD_NOT_ALLOWED: [405, 'This path has no such method'],
  CONFLICT: [409, 'Something else is in the way'],
  CURSOR_EXPIRED: [410, 'The list cannot be gone on with'],
  BODY_TOO_LARGE: [413, 'The body is too large'],
  TOO_MANY_EVENTS: [413, 'Too many events in one request'],
  UNSUPPORTED_ENCODING: [415, 'The content encoding is unknown'],
  QUERY_TOO_LARGE: [422, 'The question would read too much'],
  CANCELLED: [499, 'The client went away'],
  QUERY_TIMEOUT: [504, 'The question took too long'],
  OVERLOADED: [503, 'Too much at once: try again'],
  STORE_UNAVAILABLE: [503, 'Cassandra cannot be reached: try again'],
  SCHEMA_OUTDATED: [503, 'The schema does not fit this version'],
  DATA_DAMAGED: [500, 'Stored bytes are damaged or missing'],
  INVALID_CONFIG: [500, 'The configuration is wrong'],
  EMBEDDED_UNAVAILABLE: [500, 'Cassandra cannot be started'],
  INTERNAL: [500, 'A fault of ours'],
}

/** The only place that makes a status of an error: RFC 9457 problem details. */
export function errorResponse(error: Error, c: Context<AppEnv>, log: Logger): Response {
  if (error instanceof AppError) {
    if (ANSWERS[error.code][0] >= 500)
      log.warn({ requestId: c.var.requestId, code: error.code, err: error }, 'a request failed')
    return problem(c, error.code, error.message, error.faults)
  }
  // Hono throws this of its own accord, for example for a path that cannot be decoded.
  if (error instanceof HTTPException && error.status < 500)
    return problem(c, 'INVALID_REQUEST', error.message)
  log.error({ requestId: c.var.requestId, err: error }, 'a bug')
  return problem(c, 'INTERNAL', 'the log has the whole of it, under this request id')
}

function problem(
  c: Context<AppEnv>,
  code: ErrorCode,
  detail: string,
  faults: readonly QueryFault[] = [],
): Response {
  const [status, title] = ANSWERS[code]
  const headers: Record<string, string> = { 'content-type': 'application/problem+json' }
  if (status === 503) headers['retry-after'] = RETRY_AFTER_S
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  const { requestId } = c.var
  const errors = faults.length === 0 ? {} : { errors: faults }
  const body = { type: 'about:blank', title, status, detail, code, requestId, ...errors }
  return c.body(JSON.stringify(body), status as ContentfulStatusCode, headers)
}
