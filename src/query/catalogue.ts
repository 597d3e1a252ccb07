import pLimit from 'p-limit'
import type { Clock } from '../clock.ts'
import { DAY_MS, HOUR_MS } from '../event/day.ts'
import type { EventBuckets } from '../store/event-buckets.ts'
import type { EventNames } from '../store/event-names.ts'
import type { Events } from '../store/events.ts'
import type { Project } from '../store/projects.ts'
import type { PropertyNames, PropertyType } from '../store/property-names.ts'
import type { Snapshots } from '../store/snapshots.ts'
import type { Admission } from './admission.ts'
import { sampleValues, type Value } from './sample-values.ts'

/** What ingest writes down of the last sight of a name is so much too early at most. */
const LAST_SEEN_LATE_MS = HOUR_MS
/** Told of all names together; a name has 200 at most. */
const PROPERTIES_MAX = 10_000

export interface ListedEventName {
  readonly event: string
  readonly firstSeen: string
  readonly lastSeen: string
}

export interface ListedProperty {
  readonly property: string
  readonly types: readonly PropertyType[]
  /** Examples; absent where there are none or too many. */
  readonly values?: readonly Value[]
}

export type Catalogue = ReturnType<typeof openCatalogue>

/** What there is to ask about: event names and their properties, as ingest noted them at first sight. */
export function openCatalogue(dependencies: {
  readonly stores: {
    readonly eventNames: EventNames
    readonly propertyNames: PropertyNames
    readonly events: Events
    readonly eventBuckets: EventBuckets
    readonly snapshots: Snapshots
  }
  readonly readsInFlightMax: number
  readonly admit: Admission
  readonly clock: Clock
}) {
  const { stores, readsInFlightMax, admit, clock } = dependencies
  const limit = pLimit(readsInFlightMax)

  /** Leaves out names whose last event is beyond the retention: there is nothing left to ask about. */
  async function heldNames({ projectId, retentionDays }: Project) {
    const endMs = clock.nowMs() - retentionDays * DAY_MS - LAST_SEEN_LATE_MS
    const names = await stores.eventNames.list(projectId)
    return names.filter(({ lastSeenMs }) => lastSeenMs >= endMs)
  }

  async function propertyTypes(projectId: string, names: readonly string[]) {
    const types = new Map<string, Set<PropertyType>>()
    const readName = async (name: string) => {
      for (const { property, type } of await stores.propertyNames.list(projectId, name)) {
        const known = types.get(property)
        if (known !== undefined) known.add(type)
        else if (types.size < PROPERTIES_MAX) types.set(property, new Set([type]))
      }
    }
    await Promise.all(names.map((name) => limit(() => readName(name))))
    return types
  }

  async function properties(project: Project, event: string | undefined) {
    const { projectId, retentionDays } = project
    const held = (await heldNames(project)).map(({ eventName }) => eventName)
    const names = event === undefined ? held : held.filter((name) => name === event)
    const types = await propertyTypes(projectId, names)
    if (types.size === 0) return { properties: [] }
    const read = { projectId, retentionDays, nowMs: clock.nowMs(), limit }
    const values = await sampleValues(stores, { ...read, eventName: event ?? null })
    return {
      properties: [...types]
        .map(([property, ofProperty]): ListedProperty => {
          const examples = values.get(property) ?? []
          const listed = { property, types: [...ofProperty].sort() }
          return examples.length === 0 ? listed : { ...listed, values: examples }
        })
        .sort((a, b) => (a.property < b.property ? -1 : 1)),
    }
  }

  return {
    /**
     * Returns the event names of a project, the first 2,000 that it had, by their text. Times are those of events:
     * the first is exact, the last is so or up to an hour too early.
     */
    names: (project: Project): Promise<{ readonly events: readonly ListedEventName[] }> =>
      admit(async () => ({
        events: (await heldNames(project)).map(({ eventName, firstSeenMs, lastSeenMs }) => ({
          event: eventName,
          firstSeen: new Date(firstSeenMs).toISOString(),
          lastSeen: new Date(lastSeenMs).toISOString(),
        })),
      })),

    /** Returns the properties of an event name, or of all names, by their text. None for an unknown name. */
    properties: (
      project: Project,
      event: string | undefined,
    ): Promise<{ readonly properties: readonly ListedProperty[] }> =>
      admit(() => properties(project, event)),
  }
}
