import { AppError } from '../error.ts'

/** Throws CANCELLED or QUERY_TIMEOUT when a question was given up. */
export function throwIfCancelled({ aborted, reason }: AbortSignal): void {
  if (!aborted) return
  if (reason instanceof DOMException && reason.name === 'TimeoutError')
    throw new AppError('QUERY_TIMEOUT', 'the question took too long: ask about fewer days')
  throw new AppError('CANCELLED', 'the question was given up', { cause: reason })
}

/** Waits for work that cannot be stopped, but no longer than a question is waited for. */
export async function unlessCancelled<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  throwIfCancelled(signal)
  let stop = () => {}
  const cancelled = new Promise<never>((_, reject) => {
    stop = () => {
      try {
        throwIfCancelled(signal)
      } catch (error) {
        reject(error as Error)
      }
    }
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work, cancelled])
  } finally {
    signal.removeEventListener('abort', stop)
    // What fails when nobody waits any more is told to nobody.
    work.catch(() => undefined)
  }
}
