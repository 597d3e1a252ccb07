import type { LimitFunction } from 'p-limit'
import { dayOf } from '../event/day.ts'
import { groupBy } from '../group-by.ts'
import type { EventPosition, StoredEvent } from '../store/event-row.ts'
import type { Events } from '../store/events.ts'

/**
 * Reads a user's events at these positions, in their order, one statement a day. One that is told and not
 * there yet was not acknowledged, and is left out.
 */
export async function eventsAt(
  { events, limit }: { readonly events: Events; readonly limit: LimitFunction },
  { projectId, userId }: { readonly projectId: string; readonly userId: string },
  positions: readonly EventPosition[],
): Promise<StoredEvent[]> {
  const byDay = groupBy(positions, ({ eventTimeMs }) => dayOf(eventTimeMs))
  const reads = [...byDay].map(([day, ofDay]) =>
    limit(() => events.find({ projectId, userId, day, positions: ofDay })),
  )
  const read = (await Promise.all(reads)).flat()
  const byPosition = new Map(read.map((event) => [positionKey(event), event]))
  return positions.flatMap((position) => byPosition.get(positionKey(position)) ?? [])
}

/** A position as text; the same for the same. */
export function positionKey({ eventTimeMs, eventId }: EventPosition): string {
  return `${eventTimeMs} ${eventId}`
}
