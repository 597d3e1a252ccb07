import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import { checkEvent, isRejection } from '../event/check-event.ts'
import { dayOf } from '../event/day.ts'
import type { Rejection } from '../event/event.ts'
import type { Metrics } from '../metrics.ts'
import type { EventBatch } from '../wire/event-batch.ts'
import type { FirstSight, SightedEvent } from './first-sight.ts'
import type { CommitProject, GroupCommit } from './group-commit.ts'
import type { MinuteCounts } from './minute-counts.ts'
import { untilStored } from '../store/retry.ts'
import type { UserGuard } from './user-guard.ts'

export interface IngestOutcome {
  readonly accepted: number
  readonly rejected: readonly (Rejection & { readonly index: number })[]
}

export type Ingest = ReturnType<typeof openIngest>

/** The way of an event: checked, admitted, first sights noted, committed, counted, acknowledged. */
export function openIngest(dependencies: {
  readonly steps: {
    readonly userGuard: UserGuard
    readonly firstSight: FirstSight
    readonly groupCommit: GroupCommit
    readonly minuteCounts: MinuteCounts
  }
  readonly acknowledgeTimeoutMs: number
  readonly clock: Clock
  readonly metrics: Metrics
}) {
  const { steps, acknowledgeTimeoutMs, clock, metrics } = dependencies
  const { userGuard, firstSight, groupCommit, minuteCounts } = steps

  function check(project: CommitProject, batch: EventBatch) {
    const context = { ...project, receivedAtMs: clock.nowMs(), stringify: batch.stringify }
    const sighted: SightedEvent[] = []
    const rejected: (Rejection & { index: number })[] = []
    for (const [index, raw] of batch.events.entries()) {
      const event = checkEvent(raw, context)
      if (isRejection(event)) rejected.push({ index, ...event })
      else if (!userGuard.admit(project.projectId, event.userId, dayOf(event.eventTimeMs)))
        rejected.push({
          index,
          code: 'USER_LIMIT',
          message: 'too many events of this user that day',
        })
      else sighted.push({ event, properties: (raw as { properties?: unknown }).properties })
    }
    return { sighted, rejected }
  }

  async function store(
    project: CommitProject,
    sighted: readonly SightedEvent[],
    signal: AbortSignal,
  ) {
    const events = sighted.map(({ event }) => event)
    const retry = { signal, onRetry: () => metrics.ingestRetries.inc() }
    const noteSights = () => untilStored(() => firstSight.note(project.projectId, sighted), retry)
    await groupCommit.add(project, events, noteSights)
    const names = await firstSight.catalogued(project.projectId)
    minuteCounts.count(
      project.projectId,
      events.filter(({ eventName }) => names.has(eventName)),
    )
  }

  return {
    /**
     * Resolves when every accepted event is durable; refused ones are told by index. Throws OVERLOADED or
     * STORE_UNAVAILABLE when that cannot be said in time: the sender then sends again, and what was
     * stored after all is not counted twice.
     */
    async accept(project: CommitProject, batch: EventBatch): Promise<IngestOutcome> {
      const { sighted, rejected } = check(project, batch)
      metrics.ingestEvents.inc({ outcome: 'rejected' }, rejected.length)
      if (sighted.length > 0) {
        const shed = (error: unknown) => {
          metrics.ingestEvents.inc({ outcome: 'shed' }, sighted.length)
          for (const { event } of sighted)
            userGuard.withdraw(project.projectId, event.userId, dayOf(event.eventTimeMs))
          throw error
        }
        const stored = (signal: AbortSignal) => store(project, sighted, signal)
        await withinTime(stored, acknowledgeTimeoutMs).catch(shed)
      }
      metrics.ingestEvents.inc({ outcome: 'accepted' }, sighted.length)
      return { accepted: sighted.length, rejected }
    },
  }
}

async function withinTime(work: (signal: AbortSignal) => Promise<void>, timeoutMs: number) {
  const late = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      late.abort()
      reject(new AppError('OVERLOADED', 'the events could not be stored in time'))
    }, timeoutMs)
  })
  const working = work(late.signal)
  try {
    await Promise.race([working, timeout])
  } finally {
    clearTimeout(timer)
    // What fails after the sender was told to send again is told to nobody else.
    working.catch(() => undefined)
  }
}
