import { openArrivals } from './arrivals.ts'
import { openEventBuckets } from './event-buckets.ts'
import { openEventCounts } from './event-counts.ts'
import { openEventNames } from './event-names.ts'
import { openEvents } from './events.ts'
import { openKeys } from './keys.ts'
import { openLooseObjects } from './loose-objects.ts'
import { openObjects } from './objects.ts'
import { openProjects } from './projects.ts'
import { openPropertyNames } from './property-names.ts'
import { openRoots } from './roots.ts'
import { openSealLeases } from './seal-leases.ts'
import type { Session } from './session.ts'
import { openSnapshots } from './snapshots.ts'
import { openUserTimeline } from './user-timeline.ts'
import { openWriterHeads } from './writer-heads.ts'
import { openWriters } from './writers.ts'

export type Stores = ReturnType<typeof openStores>

/** All tables of one keyspace. */
export function openStores(session: Session) {
  const objects = openObjects(session)
  const roots = openRoots(session)
  return {
    session,
    arrivals: openArrivals(session),
    eventBuckets: openEventBuckets(session),
    eventCounts: openEventCounts(session),
    eventNames: openEventNames(session),
    events: openEvents(session),
    keys: openKeys(session),
    looseObjects: openLooseObjects(session),
    objects,
    projects: openProjects(session),
    propertyNames: openPropertyNames(session),
    roots,
    sealLeases: openSealLeases(session),
    snapshots: openSnapshots({ roots, objects }),
    userTimeline: openUserTimeline(session),
    writerHeads: openWriterHeads(session),
    writers: openWriters(session),
  }
}
