import type { StoredEvent } from '../store/event-row.ts'

/** What waits for a slow client, at most. Events beyond are dropped, and counted. */
const WAITING_EVENTS_MAX = 10_000
const WAITING_CHARACTERS_MAX = 4_194_304

/** What has come for a listener since it took last. */
export interface LiveEvents {
  readonly events: readonly StoredEvent[]
  /** How many came after these and were dropped. */
  readonly dropped: number
}

export type LiveListener = ReturnType<typeof openLiveListener>

/** Holds what comes until a client takes it, within limits: a slow client never holds up who offers. */
export function openLiveListener({
  eventName,
  onEnd,
}: {
  /** Null: any. */
  readonly eventName: string | null
  readonly onEnd: () => void
}) {
  const ended = new AbortController()
  let hasBegun = false
  let waiting: StoredEvent[] = []
  let characters = 0
  let dropped = 0
  let wake = () => {}

  return {
    /** Aborted once nothing more will come. */
    ended: ended.signal,

    /** From now on what is offered is taken. */
    begin: () => void (hasBegun = true),

    offer(event: StoredEvent): void {
      if (!hasBegun || ended.signal.aborted) return
      if (eventName !== null && event.eventName !== eventName) return
      characters += event.properties.length
      // Once one is dropped so are those after it, until all before are taken: the count stands at one place.
      if (
        dropped > 0 ||
        waiting.length >= WAITING_EVENTS_MAX ||
        characters > WAITING_CHARACTERS_MAX
      )
        dropped++
      else waiting.push(event)
      wake()
    },

    /** Returns what has come: at once if there is any, else as soon as there is, with nothing after a time or at the end. */
    async take(timeoutMs: number): Promise<LiveEvents> {
      if (waiting.length === 0 && !ended.signal.aborted)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMs)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      const taken = { events: waiting, dropped }
      waiting = []
      characters = 0
      dropped = 0
      return taken
    },

    end(): void {
      if (ended.signal.aborted) return
      ended.abort()
      wake()
      onEnd()
    },
  }
}
