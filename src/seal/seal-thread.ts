import type { Logger } from '../log.ts'
import type { MetricsJson } from '../metrics.ts'
import type { SessionOptions } from '../store/session.ts'
import { openThread } from '../threads.ts'
import type { SealedThrough } from './sealer.ts'

/** What the thread is started with. */
export interface SealStart {
  readonly database: Omit<SessionOptions, 'log' | 'metrics' | 'onWarning' | 'areBlobsViews'>
  readonly logLevel: string
  /** Whether it seals by itself, or only what it is asked to. */
  readonly isSealing: boolean
}

export type SealTask =
  { readonly kind: 'sealNow'; readonly projectId: string } | { readonly kind: 'metrics' }

export type SealThread = ReturnType<typeof openSealThread>

/** Sealing inside the service, in a thread of its own. */
export function openSealThread(options: {
  readonly start: SealStart
  readonly onWarning: ((warning: string) => void) | undefined
  readonly log: Logger
}) {
  const thread = openThread({ name: 'seal-worker', ...options })
  return {
    /** Publishes all of a project that was acknowledged before the call. */
    sealNow: (projectId: string) =>
      thread.send<SealedThrough>({ kind: 'sealNow', projectId } satisfies SealTask),

    /** What the thread measured. */
    async metrics(): Promise<MetricsJson[]> {
      const json = await thread.sendIfFree<MetricsJson>({ kind: 'metrics' } satisfies SealTask)
      return json === undefined ? [] : [json]
    },

    close: (giveUp: AbortSignal) => thread.close(giveUp),
  }
}
