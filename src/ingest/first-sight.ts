import { bucketOf } from '../event/bucket.ts'
import { dayOf } from '../event/day.ts'
import type { Event } from '../event/event.ts'
import { isOpaqueNumber } from '../event/exact-json.ts'
import type { BucketDay, EventBuckets } from '../store/event-buckets.ts'
import type { EventNames } from '../store/event-names.ts'
import type { PropertyName, PropertyNames, PropertyType } from '../store/property-names.ts'

export const NAMES_PER_PROJECT_MAX = 2_000
export const PROPERTIES_PER_NAME_MAX = 200
const PROPERTY_LENGTH_MAX = 256
const PROJECTS_KNOWN_MAX = 1_000
const BUCKET_DAYS_KNOWN_MAX = 1_000_000
/** A name's last sight is written again when it lies this much later. */
const SPAN_STEP_MS = 3_600_000

export interface SightedEvent {
  readonly event: Event
  /** The properties as parsed, before they became text. */
  readonly properties: unknown
}

interface KnownName {
  firstSeenMs: number
  lastSeenMs: number
  /** `type path`; null until read from the table. */
  properties: Set<string> | null
}

interface KnownProject {
  names: Map<string, KnownName>
  bucketDays: Set<number>
}

export type FirstSight = ReturnType<typeof openFirstSight>

/**
 * Writes down what is seen for the first time by this process: buckets of days that hold events, event
 * names, their properties. Done before the events are acknowledged, so that no question misses them;
 * for what is known it costs look-ups in memory and no waiting.
 */
export function openFirstSight(dependencies: {
  readonly eventBuckets: EventBuckets
  readonly eventNames: EventNames
  readonly propertyNames: PropertyNames
}) {
  const { eventBuckets, eventNames, propertyNames } = dependencies
  const projects = new Map<string, Promise<KnownProject>>()

  function knownProject(projectId: string, retentionDays: number): Promise<KnownProject> {
    // A longer retention needs rows that live longer, so it starts anew.
    const key = `${projectId} ${retentionDays}`
    const known = projects.get(key)
    if (known !== undefined) return known
    if (projects.size >= PROJECTS_KNOWN_MAX) projects.delete(projects.keys().next().value!)
    const loading = load(projectId)
    projects.set(key, loading)
    loading.catch(() => projects.delete(key))
    return loading
  }

  async function load(projectId: string): Promise<KnownProject> {
    const names = new Map<string, KnownName>()
    for (const { eventName, firstSeenMs, lastSeenMs } of await eventNames.list(projectId))
      names.set(eventName, { firstSeenMs, lastSeenMs, properties: null })
    return { names, bucketDays: new Set() }
  }

  async function noteBuckets(
    known: KnownProject,
    project: { projectId: string; retentionDays: number },
    sighted: readonly SightedEvent[],
  ) {
    const fresh = new Map<number, BucketDay>()
    for (const { event } of sighted) {
      const bucket = bucketOf(event.userId)
      const day = dayOf(event.eventTimeMs)
      const key = day * 1000 + bucket
      if (!known.bucketDays.has(key)) fresh.set(key, { bucket, day })
    }
    if (fresh.size === 0) return
    const { projectId, retentionDays } = project
    const nowMs = sighted[0]!.event.receivedAtMs
    await eventBuckets.add(projectId, [...fresh.values()], { retentionDays, nowMs })
    if (known.bucketDays.size > BUCKET_DAYS_KNOWN_MAX) known.bucketDays.clear()
    for (const key of fresh.keys()) known.bucketDays.add(key)
  }

  async function noteName(known: KnownProject, projectId: string, { event }: SightedEvent) {
    const { eventName, eventTimeMs } = event
    const name = known.names.get(eventName)
    if (name === undefined) {
      if (known.names.size >= NAMES_PER_PROJECT_MAX) return
      const firstSeenMs = eventTimeMs
      await eventNames.widen(projectId, { eventName, firstSeenMs, lastSeenMs: eventTimeMs })
      if (!known.names.has(eventName))
        known.names.set(eventName, { firstSeenMs, lastSeenMs: eventTimeMs, properties: null })
      return
    }
    if (isWithin(name, eventTimeMs)) return
    const firstSeenMs = Math.min(name.firstSeenMs, eventTimeMs)
    const lastSeenMs = Math.max(name.lastSeenMs, eventTimeMs)
    await eventNames.widen(projectId, { eventName, firstSeenMs, lastSeenMs })
    Object.assign(name, { firstSeenMs, lastSeenMs })
  }

  async function noteProperties(known: KnownProject, projectId: string, sighted: SightedEvent) {
    const { eventName } = sighted.event
    const name = known.names.get(eventName)
    if (name === undefined) return
    name.properties ??= await loadProperties(projectId, eventName)
    for (const { property, type } of propertiesOf(sighted.properties)) {
      const key = `${type} ${property}`
      if (name.properties.has(key) || name.properties.size >= PROPERTIES_PER_NAME_MAX) continue
      await propertyNames.add(projectId, eventName, { property, type })
      name.properties.add(key)
    }
  }

  async function loadProperties(projectId: string, eventName: string): Promise<Set<string>> {
    const listed = await propertyNames.list(projectId, eventName)
    return new Set(listed.map(({ property, type }) => `${type} ${property}`))
  }

  return {
    async note(
      project: { readonly projectId: string; readonly retentionDays: number },
      sighted: readonly SightedEvent[],
    ): Promise<void> {
      const { projectId, retentionDays } = project
      const known = await knownProject(projectId, retentionDays)
      await noteBuckets(known, project, sighted)
      for (const one of sighted) {
        if (isKnown(known, one)) continue
        await noteName(known, projectId, one)
        await noteProperties(known, projectId, one)
      }
    },
  }
}

function isWithin({ firstSeenMs, lastSeenMs }: KnownName, eventTimeMs: number): boolean {
  return eventTimeMs >= firstSeenMs && eventTimeMs < lastSeenMs + SPAN_STEP_MS
}

// For almost every event the whole of this file: no waiting, nothing written.
function isKnown({ names }: KnownProject, { event, properties }: SightedEvent): boolean {
  const name = names.get(event.eventName)
  if (name === undefined) return names.size >= NAMES_PER_PROJECT_MAX
  const known = name.properties
  if (known === null || !isWithin(name, event.eventTimeMs)) return false
  if (known.size >= PROPERTIES_PER_NAME_MAX) return true
  return propertiesOf(properties).every(({ property, type }) => known.has(`${type} ${property}`))
}

/** Lists what can be asked about: strings, numbers and booleans, nested ones by dotted path. */
function propertiesOf(properties: unknown): PropertyName[] {
  const found: PropertyName[] = []
  const open: [string, unknown][] = [['', properties]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [path, value] = next
    const type = typeOf(value)
    if (type !== 'object') {
      if (type !== null && path.length <= PROPERTY_LENGTH_MAX) found.push({ property: path, type })
      continue
    }
    for (const [key, child] of Object.entries(value as object) as [string, unknown][])
      open.push([path === '' ? key : `${path}.${key}`, child])
  }
  return found
}

/** Null for null, an array and what is missing, which cannot be asked about. */
function typeOf(value: unknown): PropertyType | 'object' | null {
  if (typeof value === 'string') return 'string'
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  return isOpaqueNumber(value) ? 'number' : 'object'
}
