import pLimit from 'p-limit'
import { BUCKET_COUNT, bucketOf } from '../event/bucket.ts'
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
/** Of all projects together: 20 MB. */
const BUCKET_DAYS_KNOWN_MAX = 500_000
const WRITES_IN_FLIGHT_MAX = 16
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
  readonly names: Map<string, KnownName>
  readonly bucketDays: Set<number>
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
  const limit = pLimit(WRITES_IN_FLIGHT_MAX)
  let bucketDayCount = 0

  function knownProject(projectId: string): Promise<KnownProject> {
    if (projects.size >= PROJECTS_KNOWN_MAX || bucketDayCount >= BUCKET_DAYS_KNOWN_MAX) {
      projects.clear()
      bucketDayCount = 0
    }
    const known = projects.get(projectId)
    if (known !== undefined) return known
    const loading = load(projectId)
    projects.set(projectId, loading)
    loading.catch(() => projects.delete(projectId))
    return loading
  }

  async function load(projectId: string): Promise<KnownProject> {
    const names = new Map<string, KnownName>()
    for (const { eventName, firstSeenMs, lastSeenMs } of await eventNames.list(projectId))
      names.set(eventName, { firstSeenMs, lastSeenMs, properties: null })
    return { names, bucketDays: new Set() }
  }

  async function noteBuckets(
    { bucketDays }: KnownProject,
    projectId: string,
    sighted: readonly SightedEvent[],
  ): Promise<void> {
    const fresh = new Map<number, BucketDay>()
    for (const { event } of sighted) {
      const bucket = bucketOf(event.userId)
      const day = dayOf(event.eventTimeMs)
      const key = day * BUCKET_COUNT + bucket
      if (!bucketDays.has(key)) fresh.set(key, { bucket, day })
    }
    if (fresh.size === 0) return
    await eventBuckets.add(projectId, [...fresh.values()])
    for (const key of fresh.keys()) bucketDays.add(key)
    bucketDayCount += fresh.size
  }

  async function noteNames(
    { names }: KnownProject,
    projectId: string,
    sighted: readonly SightedEvent[],
  ): Promise<void> {
    const spans = new Map<string, { firstSeenMs: number; lastSeenMs: number }>()
    for (const { event } of sighted) {
      const { eventName, eventTimeMs } = event
      const name = names.get(eventName)
      if (name === undefined && names.size + spans.size >= NAMES_PER_PROJECT_MAX) continue
      const span = spans.get(eventName) ?? name
      const firstSeenMs = Math.min(span?.firstSeenMs ?? eventTimeMs, eventTimeMs)
      const lastSeenMs = Math.max(span?.lastSeenMs ?? eventTimeMs, eventTimeMs)
      if (name === undefined || !isWithin(name, eventTimeMs))
        spans.set(eventName, { firstSeenMs, lastSeenMs })
    }
    const widen = async ([eventName, span]: [
      string,
      { firstSeenMs: number; lastSeenMs: number },
    ]) => {
      await eventNames.widen(projectId, { eventName, ...span })
      const properties = names.get(eventName)?.properties ?? null
      names.set(eventName, { properties, ...span })
    }
    await Promise.all([...spans].map((span) => limit(() => widen(span))))
  }

  async function noteProperties(
    { names }: KnownProject,
    projectId: string,
    sighted: readonly SightedEvent[],
  ): Promise<void> {
    const eventNamesSighted = new Set(sighted.map(({ event }) => event.eventName))
    await Promise.all(
      [...eventNamesSighted].map(async (eventName) => {
        const name = names.get(eventName)
        if (name !== undefined) name.properties ??= await loadProperties(projectId, eventName)
      }),
    )
    const writes: Promise<void>[] = []
    for (const { event, properties } of sighted) {
      const known = names.get(event.eventName)?.properties ?? null
      if (known === null) continue
      for (const { property, type } of propertiesOf(properties)) {
        const key = `${type} ${property}`
        if (known.has(key) || known.size >= PROPERTIES_PER_NAME_MAX) continue
        // Known before it is written, so that the rest of the batch does not write it again.
        known.add(key)
        const write = limit(() => propertyNames.add(projectId, event.eventName, { property, type }))
        writes.push(
          write.catch((error: unknown) => {
            known.delete(key)
            throw error
          }),
        )
      }
    }
    await Promise.all(writes)
  }

  async function loadProperties(projectId: string, eventName: string): Promise<Set<string>> {
    const listed = await limit(() => propertyNames.list(projectId, eventName))
    return new Set(listed.map(({ property, type }) => `${type} ${property}`))
  }

  return {
    async note(projectId: string, sighted: readonly SightedEvent[]): Promise<void> {
      const known = await knownProject(projectId)
      await noteBuckets(known, projectId, sighted)
      const unknown = sighted.filter((one) => !isKnown(known, one))
      if (unknown.length === 0) return
      await noteNames(known, projectId, unknown)
      await noteProperties(known, projectId, unknown)
    },

    /** Returns the event names that are catalogued: the first 2,000 of a project. */
    async catalogued(projectId: string): Promise<{ readonly has: (eventName: string) => boolean }> {
      return (await knownProject(projectId)).names
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
      if (type !== null && isAskable(path)) found.push({ property: path, type })
      continue
    }
    for (const [key, child] of Object.entries(value as object) as [string, unknown][])
      open.push([path === '' ? key : `${path}.${key}`, child])
  }
  return found
}

// What no question can name is not told of either.
function isAskable(path: string): boolean {
  return path !== '' && path.length <= PROPERTY_LENGTH_MAX && path.isWellFormed()
}

/** Null for null, an array and what is missing, which cannot be asked about. */
function typeOf(value: unknown): PropertyType | 'object' | null {
  if (typeof value === 'string') return 'string'
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  return isOpaqueNumber(value) ? 'number' : 'object'
}
