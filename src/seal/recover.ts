import { dayOf } from '../event/day.ts'
import type { EventBuckets } from '../store/event-buckets.ts'
import type { Events, ScannedEvent } from '../store/events.ts'
import type { BlockColumns } from '../segment/block.ts'
import type { SealProject } from './write-segment.ts'

const EVENTS_PER_SLICE = 50_000
const WHOLE = { withProperties: true, withSessionId: true, withReceivedAt: true }

/**
 * Yields all raw events of a project, some ten thousand at a time: for when commits may have expired before
 * they were sealed. Those that were sealed are told by their ids and dropped like any copy.
 */
export async function* rawEventsOf(
  { events, eventBuckets }: { readonly events: Events; readonly eventBuckets: EventBuckets },
  { projectId, retentionDays }: SealProject,
  nowMs: number,
): AsyncGenerator<BlockColumns> {
  const today = dayOf(nowMs)
  let slice: ScannedEvent[] = []
  const listed = eventBuckets.list(projectId, today - retentionDays, today + 1)
  for await (const { bucketDays } of listed)
    for (const bucketDay of bucketDays)
      for await (const page of events.scan({ projectId, ...bucketDay, ...WHOLE })) {
        for (const event of page) slice.push(event)
        if (slice.length < EVENTS_PER_SLICE) continue
        yield columnsOf(slice)
        slice = []
      }
  yield columnsOf(slice)
}

function columnsOf(events: readonly ScannedEvent[]): BlockColumns {
  return {
    eventCount: events.length,
    eventIds: Buffer.from(events.map(({ eventId }) => eventId.replaceAll('-', '')).join(''), 'hex'),
    eventTimeMs: Float64Array.from(events, ({ eventTimeMs }) => eventTimeMs),
    receivedAtMs: Float64Array.from(events, ({ receivedAtMs }) => receivedAtMs),
    eventNames: events.map(({ eventName }) => eventName),
    userIds: events.map(({ userId }) => userId),
    sessionIds: events.map(({ sessionId }) => sessionId),
    properties: events.map(({ properties }) => properties),
  }
}

/** Whether a project has any raw events at all. */
export async function hasRawEvents(
  { eventBuckets }: { readonly eventBuckets: EventBuckets },
  { projectId, retentionDays }: SealProject,
  nowMs: number,
): Promise<boolean> {
  const today = dayOf(nowMs)
  for await (const { bucketDays } of eventBuckets.list(projectId, today - retentionDays, today + 1))
    if (bucketDays.length > 0) return true
  return false
}
