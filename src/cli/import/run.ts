import pLimit from 'p-limit'
import type { Clock } from '../../clock.ts'
import { refusedLine, type Batch } from './batches.ts'
import type { Advance } from './progress.ts'
import type { ImportFiles, ImportState, RefusedLine } from './state.ts'

const SAVE_EVERY_MS = 1_000
const SHOWN_MAX = 5
/** Batches that may wait for an earlier one to be answered, for each that is in flight. */
const WINDOW_PER_REQUEST = 4

/** What the service says of a batch. */
export interface Outcome {
  readonly rejected: readonly {
    readonly index: number
    readonly code: string
    readonly message: string
  }[]
}

export interface ImportResult {
  readonly state: ImportState
  /** The first refused lines of this run. */
  readonly refused: readonly RefusedLine[]
}

export const NOTHING_YET: ImportState = {
  ...{ nextLine: 1, read: 0, accepted: 0, refused: 0, refusedSize: 0 },
  isDone: false,
}

/**
 * Sends batches, several at a time, and counts them in the order of the file: all that lies before
 * `nextLine` is known to be taken or refused. That is kept every second and in the end, however it ends.
 * Holds a bounded number of batches. Throws what `send` throws; resolves with `isDone: false` when
 * `stop` is aborted.
 */
export async function runImport(
  batches: AsyncIterable<Batch>,
  send: (events: readonly string[], signal: AbortSignal) => Promise<Outcome>,
  options: {
    readonly files: ImportFiles
    readonly clock: Clock
    readonly concurrency: number
    readonly onAdvance: (advance: Advance) => void
    readonly stop: AbortSignal
  },
): Promise<ImportResult> {
  const { files, clock, concurrency, onAdvance, stop } = options
  let state: ImportState = files.earlier ?? NOTHING_YET
  let savedMs = clock.monotonicMs()
  const shown: RefusedLine[] = []

  async function advance({ records, events, refused, nextLine }: Batch, { rejected }: Outcome) {
    const byService = rejected.map(({ index, code, message }) =>
      refusedLine(records[index]!, code, message),
    )
    const all = [...refused, ...byService].sort((a, b) => a.line - b.line)
    shown.push(...all.slice(0, SHOWN_MAX - shown.length))
    const refusedSize = state.refusedSize + (await files.keepRefused(all))
    state = {
      nextLine,
      read: state.read + events.length + refused.length,
      accepted: state.accepted + events.length - rejected.length,
      refused: state.refused + all.length,
      refusedSize,
      isDone: false,
    }
    onAdvance(state)
    if (clock.monotonicMs() - savedMs < SAVE_EVERY_MS) return
    savedMs = clock.monotonicMs()
    await files.save(state)
  }

  const failure = new AbortController()
  const signal = AbortSignal.any([stop, failure.signal])
  const limit = pLimit(concurrency)
  const window: Promise<unknown>[] = []
  let settled: Promise<unknown> = Promise.resolve()
  try {
    for await (const batch of batches) {
      signal.throwIfAborted()
      const answered = limit(() =>
        batch.events.length === 0 ? { rejected: [] } : send(batch.events, signal),
      )
      // In the order of the file, whatever the order of the answers.
      settled = Promise.all([answered, settled]).then(([outcome]) => advance(batch, outcome))
      settled.catch((error: unknown) => failure.abort(error))
      window.push(settled)
      if (window.length > concurrency * WINDOW_PER_REQUEST) await window.shift()
    }
    await settled
    state = { ...state, isDone: true }
  } catch (error) {
    if (!stop.aborted) throw error
  } finally {
    failure.abort()
    await Promise.allSettled(window)
    await files.save(state)
  }
  return { state, refused: shown }
}
