import { randomUUID } from 'node:crypto'
import type { Event } from '../../src/event/event.ts'
import { eventIdOf, isHeldSentId } from '../../src/event/event-id.ts'

type Part = Omit<Event, 'eventId'> & { readonly projectId: string }

/** An event as ingest hands it to the store; of any user, just now, with an id of its own. */
export function anEvent(part: Partial<Part> = {}): Event {
  const { projectId, ...event } = {
    projectId: 'project',
    sentId: randomUUID(),
    eventName: 'page_view',
    userId: '4711',
    anonymousId: null,
    sessionId: null,
    eventTimeMs: Date.now(),
    receivedAtMs: Date.now(),
    properties: '{"path":"/pricing"}',
    ...part,
  }
  const { userId, eventName } = event
  const sentId = event.sentId ?? randomUUID()
  const eventId = eventIdOf({ projectId, userId, eventName, sentId })
  return { ...event, eventId, sentId: isHeldSentId(sentId) ? null : sentId }
}
