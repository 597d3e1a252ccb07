import { AppError } from '../error.ts'

/** Throws CANCELLED or QUERY_TIMEOUT when a question was given up. */
export function throwIfCancelled({ aborted, reason }: AbortSignal): void {
  if (!aborted) return
  if (reason instanceof DOMException && reason.name === 'TimeoutError')
    throw new AppError('QUERY_TIMEOUT', 'the question took too long: ask about fewer days')
  throw new AppError('CANCELLED', 'the question was given up', { cause: reason })
}
