// Events through the real way in: batches over HTTP, each sent until it is acknowledged.
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock as clock } from '../src/clock.ts'

const BATCH_EVENTS = 500
const POSTS_AT_ONCE = 6
const RETRY_MS = 200
const TIMEOUT_MS = 300_000

export interface PostedEvent {
  readonly id: string
  readonly event: string
  readonly userId: string | number
  /** Milliseconds since 1970. */
  readonly time: number
  readonly properties?: Readonly<Record<string, string | number | boolean>>
}

/** Sends a batch until all of it is acknowledged; returns how many times it was sent. */
export async function postBatch(
  url: string,
  key: string,
  batch: readonly PostedEvent[],
): Promise<number> {
  const headers = { authorization: `Bearer ${key}` }
  const body = JSON.stringify(batch)
  const deadlineMs = clock.monotonicMs() + TIMEOUT_MS
  for (let tries = 1; ; tries++) {
    const response = await fetch(`${url}/v1/events`, { method: 'POST', headers, body })
    const text = await response.text()
    if (response.status === 200) {
      const { accepted } = JSON.parse(text) as { accepted: number }
      if (accepted !== batch.length) throw new Error(`not all were accepted: ${text}`)
      return tries
    }
    if (response.status !== 503 || clock.monotonicMs() > deadlineMs) throw new Error(text)
    await sleep(RETRY_MS)
  }
}

/** Sends all events in their order, some batches at once; returns when the last was acknowledged. */
export async function postAll(
  url: string,
  key: string,
  { count, eventOf }: { readonly count: number; readonly eventOf: (index: number) => PostedEvent },
): Promise<{ readonly endedAtMs: number; readonly tookS: number }> {
  const startedMs = clock.monotonicMs()
  let next = 0
  async function post(): Promise<void> {
    while (next < count) {
      const start = next
      next = Math.min(count, start + BATCH_EVENTS)
      const batch = Array.from({ length: next - start }, (_, at) => eventOf(start + at))
      await postBatch(url, key, batch)
    }
  }
  await Promise.all(Array.from({ length: POSTS_AT_ONCE }, post))
  return { endedAtMs: clock.nowMs(), tookS: (clock.monotonicMs() - startedMs) / 1_000 }
}
