import { openArrivals } from './arrivals.ts'
import { openEventBuckets } from './event-buckets.ts'
import { openEventCounts } from './event-counts.ts'
import { openEventNames } from './event-names.ts'
import { openEvents } from './events.ts'
import { openKeys } from './keys.ts'
import { openProjects } from './projects.ts'
import { openPropertyNames } from './property-names.ts'
import type { Session } from './session.ts'
import { openUserTimeline } from './user-timeline.ts'
import { openWriterHeads } from './writer-heads.ts'
import { openWriters } from './writers.ts'

export type Stores = ReturnType<typeof openStores>

/** All tables of one keyspace. */
export function openStores(session: Session) {
  return {
    session,
    arrivals: openArrivals(session),
    eventBuckets: openEventBuckets(session),
    eventCounts: openEventCounts(session),
    eventNames: openEventNames(session),
    events: openEvents(session),
    keys: openKeys(session),
    projects: openProjects(session),
    propertyNames: openPropertyNames(session),
    userTimeline: openUserTimeline(session),
    writerHeads: openWriterHeads(session),
    writers: openWriters(session),
  }
}
