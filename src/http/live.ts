import { setTimeout as sleep } from 'node:timers/promises'
import { Hono, type Context } from 'hono'
import { streamSSE, type SSEStreamingApi } from 'hono/streaming'
import type { LiveEventFeeds } from '../query/live-events.ts'
import type { LiveListener } from '../query/live-listener.ts'
import { checked } from '../wire/check.ts'
import { EventNameQuery } from '../wire/names-query.ts'
import type { Access } from './access.ts'
import type { AppEnv } from './app-env.ts'
import { eventJson } from './event-json.ts'
import { goneSignal } from './gone-signal.ts'

const HEARTBEAT_MS = 15_000
const KEY_CHECK_MS = 500
/** How long a client may take to read the end of its stream. */
const END_MS_MAX = 2_000

/** Events as they arrive, as server-sent events, until the client goes, its key is revoked or the service stops. */
export function liveRoutes({
  access,
  live,
}: {
  readonly access: Access
  readonly live: LiveEventFeeds
}) {
  /** Ends listening once the key may not any more. */
  async function watchKey(c: Context<AppEnv>, listener: LiveListener): Promise<void> {
    while (!listener.ended.aborted) {
      await sleep(KEY_CHECK_MS, undefined, { ref: false })
      if (!(await access.isStillAllowed(c, 'read'))) listener.end()
    }
  }

  return new Hono<AppEnv>().get('/events/live', access.allow('read'), async (c) => {
    const { event } = checked(EventNameQuery, c.req.query(), 'INVALID_QUERY')
    const { outgoing } = c.env
    const gone = goneSignal(outgoing)
    const listener = await live.listen(c.var.project.projectId, event ?? null)
    gone.addEventListener('abort', () => listener.end())
    if (gone.aborted) listener.end()
    listener.ended.addEventListener('abort', () => {
      setTimeout(() => outgoing.destroy(), END_MS_MAX).unref()
    })
    // Proxies would hold it back.
    c.header('X-Accel-Buffering', 'no')
    return streamSSE(c, async (stream) => {
      try {
        await Promise.all([sendEvents(stream, listener), watchKey(c, listener)])
      } finally {
        listener.end()
      }
    })
  })
}

/** Writes what comes; waits where the client does not read, while the listener drops what is too much. */
async function sendEvents(stream: SSEStreamingApi, listener: LiveListener): Promise<void> {
  await stream.write(': listening\n\n')
  while (!listener.ended.aborted) {
    const { events, dropped } = await listener.take(HEARTBEAT_MS)
    if (events.length === 0 && dropped === 0) await stream.write(': alive\n\n')
    for (const event of events)
      await stream.writeSSE({ event: 'event', id: event.eventId, data: eventJson(event) })
    if (dropped > 0)
      await stream.writeSSE({ event: 'dropped', data: JSON.stringify({ count: dropped }) })
  }
}
