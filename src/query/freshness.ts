import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import { AS_OF_SKEW_MS, type Root } from '../segment/root.ts'
import type { Arrivals } from '../store/arrivals.ts'
import type { Project } from '../store/projects.ts'
import type { PublishedRoot, Snapshots } from '../store/snapshots.ts'
import type { Writers } from '../store/writers.ts'
import { unlessCancelled } from './cancel.ts'

/** Publishes all of a project that was acknowledged before the call. */
export type SealNow = (projectId: string) => Promise<{ readonly asOfMs: number }>

export interface View extends PublishedRoot {
  /** All events acknowledged before it are in what the root leads to. */
  readonly asOfMs: number
}

export type Freshness = ReturnType<typeof openFreshness>

/** Finds what is published of a project, and as of when it is complete. */
export function openFreshness(dependencies: {
  readonly snapshots: Snapshots
  readonly writers: Writers
  readonly arrivals: Arrivals
  readonly sealNow: SealNow
  readonly clock: Clock
}) {
  const { snapshots, writers, arrivals, sealNow, clock } = dependencies

  /** Whether any block can be seen that the root does not have. */
  async function isWaiting(projectId: string, root: Root | null): Promise<boolean> {
    const ids = await writers.list(projectId)
    const looks = await Promise.all(
      ids.map(async (writer) => {
        const position = root?.writers[writer]
        if (position?.isClosed) return false
        const after = (position?.through ?? -1) + 1
        const gaps = (position?.gaps ?? []).map((gap) => arrivals.read(projectId, writer, gap))
        const found = await Promise.all([...gaps, arrivals.firstFrom(projectId, writer, after)])
        return found.some((arrival) => arrival !== null)
      }),
    )
    return looks.includes(true)
  }

  async function look({
    projectId,
    createdAtMs,
  }: Project): Promise<View & { readonly isWaiting: boolean }> {
    const startMs = clock.nowMs()
    const published = await snapshots.root(projectId)
    const waiting = await isWaiting(projectId, published.root)
    // A root that says to be of later was published by a wrong clock.
    const seenMs = startMs - AS_OF_SKEW_MS
    // Before it was made a project had nothing that could be missing.
    const publishedMs = published.root?.asOfMs ?? createdAtMs
    const asOfMs = waiting ? Math.min(publishedMs, seenMs) : seenMs
    return { ...published, asOfMs, isWaiting: waiting }
  }

  return {
    /**
     * `sealed`: what is published, at most seconds old. `now`: everything acknowledged before the call, which
     * is sealed first where it must be. Throws CANCELLED or QUERY_TIMEOUT after the signal.
     */
    async view(project: Project, freshness: 'sealed' | 'now', signal: AbortSignal): Promise<View> {
      const seen = await look(project)
      if (freshness === 'sealed' || !seen.isWaiting) return seen
      const { asOfMs } = await unlessCancelled(sealNow(project.projectId), signal)
      const published = await snapshots.root(project.projectId)
      if (published.root === null) throw new AppError('OVERLOADED', 'sealing is behind: ask again')
      return { ...published, asOfMs }
    },
  }
}
