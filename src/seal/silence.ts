import type { WriterHead } from '../store/writer-heads.ts'

/** How long a writer's heartbeat must not have changed before its gaps are void. */
const SILENT_MS = 30_000

export type SilenceTest = ReturnType<typeof openSilenceTest>

/**
 * Tells whether a writer is silent: whether its heartbeat has not changed for 30 s of our monotonic clock,
 * as far as was looked. `lookedMs` is from before the head was read: what came later is not held against it.
 */
export function openSilenceTest(monotonicMs: () => number) {
  const changes = new Map<string, { readonly beat: number; readonly sinceMs: number }>()
  return (writer: string, head: WriterHead | null, lookedMs: number): boolean => {
    const beat = head?.beat ?? -1
    const seen = changes.get(writer)
    if (seen?.beat === beat) return lookedMs - seen.sinceMs >= SILENT_MS
    changes.set(writer, { beat, sinceMs: monotonicMs() })
    return false
  }
}
