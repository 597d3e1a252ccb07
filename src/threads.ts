import assert from 'node:assert'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { AppError, type ErrorCode } from './error.ts'
import type { Logger } from './log.ts'
import { packageRoot } from './package-root.ts'

const RESTART_MS = 1_000
/**
 * What comes over the network counts with a thread's heap, which is small: by its own measure the engine would go
 * through all of it for every 20 MB that are read.
 */
const HEAP_MB = 64
const FREE_MS = 500

interface TaskMessage {
  readonly id: number
  readonly task: unknown
}

type Reply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'warning'; readonly warning: string }
  | { readonly kind: 'done'; readonly id: number; readonly result: unknown }
  | {
      readonly kind: 'failed'
      readonly id: number
      readonly code: ErrorCode | null
      readonly message: string
    }

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

export interface ThreadOptions {
  /** Of the built package: `dist/<name>.js`. */
  readonly name: string
  /** What the thread is started with. */
  readonly start: unknown
  readonly onReady?: () => void
  readonly onWarning: ((warning: string) => void) | undefined
  readonly log: Logger
}

export type Thread = ReturnType<typeof openThread>

/**
 * A worker thread that is given tasks and answers each. One that ends by itself is started again; the tasks
 * that it had fail as OVERLOADED, and may be given again.
 */
export function openThread({ name, start, onReady, onWarning, log }: ThreadOptions) {
  const waiting = new Map<number, Waiting>()
  let begun: () => void = () => undefined
  const hasBegun = new Promise<void>((resolve) => (begun = resolve))
  let worker: Worker | null = null
  let nextId = 0
  let isClosing = false

  function run(): void {
    setFlagsFromString(`--initial-old-space-size=${HEAP_MB}`)
    worker = new Worker(join(packageRoot(), 'dist', `${name}.js`), { workerData: start })
    worker.on('message', onReply)
    worker.on('error', (error) => log.error({ err: error, thread: name }, 'a thread failed'))
    worker.on('exit', () => {
      worker = null
      for (const { reject } of waiting.values())
        reject(new AppError('OVERLOADED', `the ${name} thread ended: ask again`))
      waiting.clear()
      if (!isClosing) setTimeout(() => isClosing || run(), RESTART_MS).unref()
    })
    // The service lives as long as it listens, and not for its threads.
    worker.unref()
  }

  function onReply(reply: Reply): void {
    if (reply.kind === 'ready') {
      begun()
      return onReady?.()
    }
    if (reply.kind === 'warning') return onWarning?.(reply.warning)
    const { resolve, reject } = waiting.get(reply.id)!
    waiting.delete(reply.id)
    if (reply.kind === 'done') resolve(reply.result)
    else if (reply.code === null) reject(new Error(`in a thread: ${reply.message}`))
    else reject(new AppError(reply.code, reply.message))
  }

  run()

  return {
    /** Gives a task; resolves with its answer, and rejects with its error. */
    send<T>(task: unknown): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        if (worker === null) {
          reject(new AppError('OVERLOADED', `the ${name} thread is being started: ask again`))
          return
        }
        const message: TaskMessage = { id: nextId++, task }
        waiting.set(message.id, { resolve: resolve as (result: unknown) => void, reject })
        worker.postMessage(message)
      })
    },

    isUp: () => worker !== null,

    /** Resolves when the thread has begun to answer. */
    hasBegun,

    /** The same for a task that can be left out: undefined where the thread is not up, or busy for too long. */
    async sendIfFree<T>(task: unknown): Promise<T | undefined> {
      if (worker === null) return undefined
      const timeout = new AbortController()
      const late = sleep(FREE_MS, undefined, { signal: timeout.signal }).catch(() => undefined)
      const answer = this.send<T>(task).catch(() => undefined)
      return await Promise.race([answer, late]).finally(() => timeout.abort())
    },

    /** Ends the thread, after what it does when it is told so; at `giveUp` whatever it does. */
    async close(giveUp: AbortSignal): Promise<void> {
      isClosing = true
      if (worker === null) return
      const open = worker
      const ended = new Promise((resolve) => open.once('exit', resolve))
      const terminate = () => void open.terminate()
      giveUp.addEventListener('abort', terminate)
      if (giveUp.aborted) terminate()
      else open.postMessage('close')
      await ended
      giveUp.removeEventListener('abort', terminate)
    },
  }
}

/** What the thread was started with, and how it tells warnings; for the thread itself. */
export function threadStart<T>(): { start: T; onWarning: (warning: string) => void } {
  assert(parentPort !== null)
  const port = parentPort
  return {
    start: workerData as T,
    onWarning: (warning) => port.postMessage({ kind: 'warning', warning } satisfies Reply),
  }
}

/** Answers tasks, several at a time, until the thread is told to close; for the thread itself. */
export function serveTasks<Task>(
  answer: (task: Task) => Promise<unknown>,
  close: () => Promise<void>,
): void {
  assert(parentPort !== null)
  const port = parentPort
  const tell = (reply: Reply) => port.postMessage(reply)

  async function onTask({ id, task }: TaskMessage): Promise<void> {
    try {
      tell({ kind: 'done', id, result: await answer(task as Task) })
    } catch (error) {
      const isTold = error instanceof AppError
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      tell({
        ...{ kind: 'failed', id },
        code: isTold ? error.code : null,
        message: isTold ? error.message : text,
      })
    }
  }

  port.on('message', (message: TaskMessage | 'close') => {
    // Each answers for itself, failures included. What the driver may still hold on to after an outage must
    // not keep the thread.
    if (message === 'close') void close().finally(() => process.exit())
    else void onTask(message)
  })
  tell({ kind: 'ready' })
}
