import type { Context } from 'hono'
import type { StoredEvent } from '../store/event-row.ts'
import type { AppEnv } from './app-env.ts'

/** Answers a page of stored events. */
export function eventsAnswer(
  c: Context<AppEnv>,
  {
    events,
    cursor,
  }: { readonly events: readonly StoredEvent[]; readonly cursor?: string | undefined },
): Response {
  const tail = cursor === undefined ? '' : `,"cursor":${JSON.stringify(cursor)}`
  return c.body(`{"events":[${events.map(eventJson).join()}]${tail}}`, 200, {
    'content-type': 'application/json',
  })
}

/**
 * Returns a stored event as it is told. By hand, so that properties leave as they came: parsing them would
 * round large numbers.
 */
export function eventJson(event: StoredEvent): string {
  const { id, eventName, userId, anonymousId, sessionId, eventTimeMs, receivedAtMs } = event
  const head = JSON.stringify({
    ...{ id, event: eventName, userId },
    ...(anonymousId === null ? {} : { anonymousId }),
    ...(sessionId === null ? {} : { sessionId }),
    time: new Date(eventTimeMs).toISOString(),
    receivedAt: new Date(receivedAtMs).toISOString(),
  })
  return `${head.slice(0, -1)},"properties":${event.properties}}`
}
