import { randomUUID } from 'node:crypto'
import type { Logger } from '../log.ts'
import type { MetricsJson } from '../metrics.ts'
import { openThread, type Thread } from '../threads.ts'
import { unlessCancelled } from './cancel.ts'
import type {
  Fetched,
  FetchTask,
  Folded,
  FoldStart,
  FoldTask,
  Numbered,
  NumberTask,
  PlaceTask,
  Listed,
  ListTask,
  Replaced,
  ReplaceTask,
  Task,
} from './worker-messages.ts'

interface Member {
  readonly thread: Thread
  isFolding: boolean
}

interface QueuedFold {
  readonly task: FoldTask | ListTask
  readonly signal: AbortSignal
  readonly resolve: (folded: unknown) => void
  readonly reject: (error: unknown) => void
}

export type Numbering = ReturnType<FoldPool['openNumbering']>
export type FoldPool = ReturnType<typeof openFoldPool>

/**
 * The threads that questions are answered in. Reading is shared out among all of them; folds are given to
 * whichever is free, one at a time each.
 */
export function openFoldPool(dependencies: {
  readonly threadCount: number
  readonly start: FoldStart
  readonly onWarning: ((warning: string) => void) | undefined
  readonly log: Logger
}) {
  const { threadCount, start, onWarning, log } = dependencies
  const folds: QueuedFold[] = []
  let turn = 0
  const members = Array.from({ length: threadCount }, (): Member => ({
    thread: openThread({ name: 'fold-worker', start, onReady: giveFolds, onWarning, log }),
    isFolding: false,
  }))

  function giveFolds(): void {
    for (const member of members) {
      if (member.isFolding || !member.thread.isUp()) continue
      const next = nextFold()
      if (next === undefined) return
      member.isFolding = true
      member.thread
        .send<unknown>(next.task)
        .then(next.resolve, next.reject)
        .finally(() => {
          member.isFolding = false
          giveFolds()
        })
    }
  }

  /** Leaves out those of questions that were given up: nobody waits for them. */
  function nextFold(): QueuedFold | undefined {
    let next = folds.shift()
    while (next?.signal.aborted === true) next = folds.shift()
    return next
  }

  /** What a thread folds cannot be stopped, but nobody waits for it once the question is given up. */
  async function queued(task: FoldTask | ListTask, signal: AbortSignal): Promise<unknown> {
    const folded = new Promise((resolve, reject) => {
      folds.push({ task, signal, resolve, reject })
      giveFolds()
    })
    return await unlessCancelled(folded, signal)
  }

  return {
    threadCount,

    /** Resolves when all threads have begun to answer. */
    hasBegun: Promise.all(members.map(({ thread }) => thread.hasBegun)),

    /** Reads columns; each thread its share of the objects. */
    async fetch({ projectId, objects }: Omit<FetchTask, 'kind'>): Promise<Fetched> {
      const parts = await Promise.all(
        members.map(async ({ thread }, index): Promise<Fetched> => {
          const share = objects.filter((_object, at) => at % threadCount === index)
          if (share.length === 0) return { partitions: 0, buffers: [] }
          return await thread.send<Fetched>({ kind: 'fetch', projectId, objects: share })
        }),
      )
      return {
        partitions: parts.reduce((sum, { partitions }) => sum + partitions, 0),
        buffers: parts.flatMap(({ buffers }) => buffers),
      }
    },

    /** Folds in whichever thread is free first. Throws CANCELLED or QUERY_TIMEOUT at once when the signal comes. */
    fold: (task: FoldTask, signal: AbortSignal) => queued(task, signal) as Promise<Folded>,

    /** The same, for lists of users. */
    list: (task: ListTask, signal: AbortSignal) => queued(task, signal) as Promise<Listed>,

    /** Places a section anew, in each thread by turns. */
    async replace(task: ReplaceTask | PlaceTask): Promise<Replaced> {
      const { thread } = members[turn++ % threadCount]!
      return await thread.send<Replaced>(task)
    },

    /** Begins to number values, in one thread, which is to be told when it is over. */
    openNumbering(wanted: Pick<NumberTask, 'valueClass' | 'sample' | 'bytesMax'>) {
      const { thread } = members[turn++ % threadCount]!
      const numbering = randomUUID()
      let knownCount = 0
      return {
        async number(dictionaries: readonly SharedArrayBuffer[]): Promise<Numbered> {
          const task: Task = { kind: 'number', ...wanted, numbering, knownCount, dictionaries }
          const numbered = await thread.send<Numbered>(task)
          knownCount = numbered.knownCount
          return numbered
        },
        /** Returns the values that were given some numbers. */
        async texts(numbers: Uint32Array): Promise<string[]> {
          const task: Task = { kind: 'texts', numbering, numbers }
          return await thread.send<string[]>(task)
        },
        // A thread that is not up has forgotten it.
        close: () => void thread.sendIfFree({ kind: 'forget', numbering } satisfies Task),
      }
    },

    /** What the threads measured. */
    async metrics(): Promise<MetricsJson[]> {
      const task: Task = { kind: 'metrics' }
      const told = members.map(({ thread }) => thread.sendIfFree<MetricsJson>(task))
      return (await Promise.all(told)).filter((json) => json !== undefined)
    },

    async close(giveUp: AbortSignal): Promise<void> {
      await Promise.all(members.map(({ thread }) => thread.close(giveUp)))
    },
  }
}
