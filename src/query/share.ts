import { LRUCache } from 'lru-cache'
import { AppError } from '../error.ts'

/** How long an answer stands for equal questions, from when it was begun. */
const SHARED_MS = 5_000
const ANSWERS_MAX = 256

interface Execution<T> {
  readonly beganMs: number
  readonly answer: Promise<T>
  readonly stop: AbortController
  isDone: boolean
  askers: number
}

/**
 * Answers equal questions by one execution. An asker who goes away leaves it to the others; when the last
 * one has gone it is stopped. Failures are shared by those who wait, and not kept.
 */
export function openShare<T>(monotonicMs: () => number) {
  const executions = new LRUCache<string, Execution<T>>({ max: ANSWERS_MAX })

  function begin(key: string, run: (signal: AbortSignal) => Promise<T>): Execution<T> {
    const stop = new AbortController()
    const execution: Execution<T> = {
      ...{ beganMs: monotonicMs(), stop, isDone: false, askers: 0 },
      answer: run(stop.signal),
    }
    execution.answer.then(
      () => (execution.isDone = true),
      () => {
        execution.isDone = true
        if (executions.get(key) === execution) executions.delete(key)
      },
    )
    executions.set(key, execution)
    return execution
  }

  /** Throws CANCELLED once `gone` is aborted, and whatever `run` throws. */
  return async (
    key: string,
    gone: AbortSignal,
    run: (signal: AbortSignal) => Promise<T>,
  ): Promise<{ readonly answer: T; readonly ageMs: number }> => {
    const known = executions.get(key)
    const isUsable =
      known !== undefined && !known.stop.signal.aborted && monotonicMs() - known.beganMs < SHARED_MS
    const execution = isUsable ? known : begin(key, run)
    execution.askers++
    const left = new Promise<never>((_, reject) => {
      const leave = () => reject(new AppError('CANCELLED', 'the question was given up'))
      gone.addEventListener('abort', leave, { once: true })
      if (gone.aborted) leave()
    })
    try {
      const answer = await Promise.race([execution.answer, left])
      return { answer, ageMs: monotonicMs() - execution.beganMs }
    } finally {
      left.catch(() => undefined)
      execution.askers--
      if (execution.askers === 0 && !execution.isDone) execution.stop.abort()
    }
  }
}
