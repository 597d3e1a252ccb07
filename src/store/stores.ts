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

const DOCUMENT_BYTES_MAX = 8_388_608

export type Stores = ReturnType<typeof openStores>

/** All tables of one keyspace. `documentBytesMax`: see `openSnapshots`. */
export function openStores(session: Session, documentBytesMax = DOCUMENT_BYTES_MAX) {
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
    snapshots: openSnapshots({ roots, objects, documentBytesMax }),
    userTimeline: openUserTimeline(session),
    writerHeads: openWriterHeads(session),
    writers: openWriters(session),
  }
}
