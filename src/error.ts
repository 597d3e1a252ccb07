/** Failures that a caller is told of. Any other error is a bug: logged, and answered as INTERNAL. */
export type ErrorCode =
  | 'INVALID_CONFIG'
  | 'INVALID_REQUEST'
  | 'INVALID_QUERY'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'CONFLICT'
  | 'BODY_TOO_LARGE'
  | 'TOO_MANY_EVENTS'
  | 'UNSUPPORTED_ENCODING'
  | 'CURSOR_EXPIRED'
  | 'QUERY_TOO_LARGE'
  | 'QUERY_TIMEOUT'
  | 'CANCELLED'
  | 'OVERLOADED'
  | 'STORE_UNAVAILABLE'
  | 'SCHEMA_OUTDATED'
  | 'DATA_DAMAGED'
  | 'EMBEDDED_UNAVAILABLE'
  | 'INTERNAL'

/** One fault of a query: where in it, and what is wrong. */
export interface QueryFault {
  readonly path: string
  readonly message: string
}

interface AppErrorOptions extends ErrorOptions {
  readonly faults?: readonly QueryFault[]
}

export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: ErrorCode
  /** For INVALID_QUERY: every fault, told together. */
  readonly faults: readonly QueryFault[]

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options)
    this.code = code
    this.faults = options.faults ?? []
  }
}
