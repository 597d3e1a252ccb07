import pLimit from 'p-limit'
import type { Clock } from '../clock.ts'
import { dayOf, DAY_MS, MINUTE_MS } from '../event/day.ts'
import type { Event } from '../event/event.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { EventCounts, MinuteCount } from '../store/event-counts.ts'
import { isPassing } from '../store/retry.ts'

const FLUSH_MS = 1_000
const UPDATES_IN_FLIGHT_MAX = 8
/** Older events are not counted live: their hours and days come from elsewhere, exact. */
const LIVE_DAYS = 2
/** Names and minutes summed at a time; more of them in a second are not counted. */
const SUMS_MAX = 20_000

export type MinuteCounts = ReturnType<typeof openMinuteCounts>

/** Sums events per name and minute in memory, and adds the sums to the counters each second. */
export function openMinuteCounts(dependencies: {
  readonly eventCounts: EventCounts
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Logger
}) {
  const { eventCounts, clock, metrics, log } = dependencies
  const limit = pLimit(UPDATES_IN_FLIGHT_MAX)
  let sums = new Map<string, MinuteCount & { count: number }>()
  let isGivenUp = false

  // Not tried again: an update that timed out may have been counted.
  async function addSum(sum: MinuteCount): Promise<void> {
    if (isGivenUp) {
      metrics.countsDropped.inc()
      return
    }
    try {
      await eventCounts.add(sum)
    } catch (error) {
      metrics.countsDropped.inc()
      if (!isPassing(error)) log.error({ err: error }, 'a counter update failed')
    }
  }

  async function flush(): Promise<void> {
    const full = sums
    sums = new Map()
    await Promise.all([...full.values()].map((sum) => limit(() => addSum(sum))))
  }

  let flushing: Promise<void> | null = null
  const timer = setInterval(() => {
    flushing ??= flush().finally(() => (flushing = null))
  }, FLUSH_MS)
  timer.unref()

  return {
    count(projectId: string, events: readonly Event[]): void {
      const oldestMs = clock.nowMs() - LIVE_DAYS * DAY_MS
      for (const { eventName, eventTimeMs } of events) {
        if (eventTimeMs < oldestMs) continue
        const minutes = Math.floor(eventTimeMs / MINUTE_MS)
        const key = `${projectId} ${minutes} ${eventName}`
        const sum = sums.get(key)
        if (sum !== undefined) {
          sum.count++
          continue
        }
        if (sums.size >= SUMS_MAX) {
          metrics.countsDropped.inc()
          continue
        }
        const day = dayOf(eventTimeMs)
        sums.set(key, { projectId, eventName, day, minute: minutes % 1440, count: 1 })
      }
    },

    /** Adds what is summed; what is left at `giveUp` is dropped. */
    async close(giveUp: AbortSignal): Promise<void> {
      clearInterval(timer)
      isGivenUp = giveUp.aborted
      giveUp.addEventListener('abort', () => (isGivenUp = true))
      await flushing
      await flush()
    },
  }
}
