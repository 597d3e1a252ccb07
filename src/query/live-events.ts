import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import { dayOf } from '../event/day.ts'
import type { Event } from '../event/event.ts'
import { heldSentId, uuidText } from '../event/event-id.ts'
import type { Logger } from '../log.ts'
import type { StoredEvent } from '../store/event-row.ts'
import { isPassing } from '../store/retry.ts'
import { openArrivalFollower, type ArrivalTables } from './follow-arrivals.ts'
import { openLiveListener, type LiveListener } from './live-listener.ts'

/** Listeners at a time: of one process, and of one project in it. */
const LIVE_LISTENERS_MAX = 100
const LIVE_LISTENERS_PER_PROJECT_MAX = 20
const LOOK_MS = 500
/** Events of a project remembered, so that a copy of one of them is not told again. */
const KNOWN_EVENTS_MAX = 20_000

export type LiveEventFeeds = ReturnType<typeof openLiveEvents>

/**
 * Tells events as they arrive, whichever process takes them in: while somebody listens to a project, the blocks of
 * all its writers are followed, twice a second. What is taken in does not know of it.
 */
export function openLiveEvents({
  stores,
  clock,
  log,
}: {
  readonly stores: ArrivalTables
  readonly clock: Clock
  readonly log: Logger
}) {
  const feeds = new Map<string, Feed>()
  let isClosed = false

  function openFeed(projectId: string): Feed {
    const follower = openArrivalFollower(stores, projectId, clock)
    const known = new LRUCache<string, true>({ max: KNOWN_EVENTS_MAX })
    const listeners = new Set<LiveListener>()
    let looking: Promise<void> = Promise.resolve()

    function tell(events: readonly Event[]): void {
      for (const event of events) {
        const key = `${dayOf(event.eventTimeMs)} ${event.eventId.toString('latin1')}`
        if (known.has(key)) continue
        known.set(key, true)
        const told = storedEventOf(projectId, event)
        for (const listener of listeners) listener.offer(told)
      }
    }

    function look(): Promise<void> {
      const next = () => follower.look(tell)
      return (looking = looking.then(next, next))
    }

    return { listeners, look }
  }

  async function follow(projectId: string, { listeners, look }: Feed): Promise<void> {
    for (;;) {
      await sleep(LOOK_MS)
      if (listeners.size === 0) return
      await look().catch((error: unknown) => {
        // What could not be read is there at the next look; what is damaged is left behind.
        if (isPassing(error)) log.debug({ err: error }, 'live events are late')
        else if (listeners.size > 0)
          log.error({ projectId, err: error }, 'live events cannot be followed')
      })
    }
  }

  return {
    /**
     * Begins to listen to a project: to events of one name, or of all where it is null. What is sent after this
     * resolves is told. Throws OVERLOADED where too many listen, or the service stops.
     */
    async listen(projectId: string, eventName: string | null): Promise<LiveListener> {
      const followed = feeds.get(projectId)
      const feed = followed ?? openFeed(projectId)
      const all = [...feeds.values()].reduce((sum, { listeners }) => sum + listeners.size, 0)
      if (isClosed) throw new AppError('OVERLOADED', 'the service is stopping')
      if (all >= LIVE_LISTENERS_MAX || feed.listeners.size >= LIVE_LISTENERS_PER_PROJECT_MAX)
        throw new AppError('OVERLOADED', 'too many listen to live events')
      const listener = openLiveListener({
        eventName,
        onEnd: () => {
          feed.listeners.delete(listener)
          if (feed.listeners.size === 0) feeds.delete(projectId)
        },
      })
      feed.listeners.add(listener)
      feeds.set(projectId, feed)
      if (followed === undefined) void follow(projectId, feed)
      try {
        await feed.look()
      } catch (error) {
        listener.end()
        throw error
      }
      // What came before, to those who listened already, is nothing new to this one.
      listener.begin()
      return listener
    },

    /** Ends all listening, and lets nobody begin. */
    close(): void {
      isClosed = true
      for (const { listeners } of feeds.values()) for (const listener of listeners) listener.end()
    },
  }
}

interface Feed {
  readonly listeners: Set<LiveListener>
  /** Tells what is new. One look after the other. */
  readonly look: () => Promise<void>
}

function storedEventOf(projectId: string, { sentId, ...event }: Event): StoredEvent {
  return {
    ...event,
    eventId: uuidText(event.eventId),
    id: sentId ?? heldSentId({ projectId, ...event }),
  }
}
