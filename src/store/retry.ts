import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../error.ts'

const FIRST_DELAY_MS = 50
const DELAY_MS_MAX = 1_000

/**
 * Runs idempotent work until it succeeds, as long as Cassandra is merely slow, overloaded or away.
 * Rejects with any other error at once, and with the last one when `signal` ends the trying.
 */
export async function untilStored<T>(
  work: () => Promise<T>,
  { signal, onRetry }: { signal: AbortSignal; onRetry: () => void },
): Promise<T> {
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(2 * delayMs, DELAY_MS_MAX)) {
    try {
      return await work()
    } catch (error) {
      if (!isPassing(error) || signal.aborted) throw error
      onRetry()
    }
    await sleep(delayMs)
  }
}

/** Whether an error means that the same write may succeed later. */
export function isPassing(error: unknown): boolean {
  return (
    error instanceof AppError && (error.code === 'OVERLOADED' || error.code === 'STORE_UNAVAILABLE')
  )
}
