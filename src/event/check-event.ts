import { randomUUID } from 'node:crypto'
import { DAY_MS } from './day.ts'
import type { Event, Rejection, RejectionCode } from './event.ts'
import { eventIdOf, isHeldSentId } from './event-id.ts'
import { isOpaqueNumber } from './exact-json.ts'
import { parseIsoTimeMs } from './time.ts'

export const EVENT_BYTES_MAX = 65_536
export const ID_BYTES_MAX = 256
export const EVENT_NAME_LENGTH_MAX = 200
export const PROPERTIES_PER_EVENT_MAX = 256
export const PROPERTY_DEPTH_MAX = 32
/** How far ahead of our clock an event may be. */
export const FUTURE_MS_MAX = DAY_MS

export interface CheckContext {
  readonly projectId: string
  readonly retentionDays: number
  readonly receivedAtMs: number
  /** Writes the properties back as JSON, with the digits that they came with. */
  readonly stringify: (part: unknown) => string
}

/**
 * Checks one event as its sender wrote it (api.md, "Event"). Returns the event, or why it is refused;
 * never throws, whatever it is given. `Rejection` is told from `Event` by its `code`.
 */
export function checkEvent(raw: unknown, context: CheckContext): Event | Rejection {
  if (!isObject(raw)) return rejection('INVALID_EVENT', 'an event is a JSON object')

  const eventName = raw['event']
  if (typeof eventName !== 'string' || eventName === '')
    return rejection('INVALID_EVENT', 'event: a non-empty string is required')
  if (eventName.length > EVENT_NAME_LENGTH_MAX)
    return rejection('INVALID_EVENT', `event: at most ${EVENT_NAME_LENGTH_MAX} characters`)
  // Where a lone half would become U+FFFD, two different names or ids could become one.
  if (!eventName.isWellFormed())
    return rejection('INVALID_EVENT', 'event: half of a surrogate pair')

  const ids = checkIds(raw)
  if ('code' in ids) return ids

  const eventTimeMs = checkTime(raw['time'], context)
  if (typeof eventTimeMs !== 'number') return eventTimeMs

  const properties = checkProperties(raw['properties'], context)
  if (typeof properties !== 'string') return properties
  if (Buffer.byteLength(properties) + eventName.length * 3 + 3 * ID_BYTES_MAX > EVENT_BYTES_MAX)
    return rejection('EVENT_TOO_LARGE', `an event takes at most ${EVENT_BYTES_MAX} bytes`)

  const { userId, anonymousId, sessionId, sentId } = ids
  const { projectId, receivedAtMs } = context
  const id = sentId ?? randomUUID()
  const eventId = eventIdOf({ projectId, userId, eventName, sentId: id })
  return {
    ...{ eventId, sentId: isHeldSentId(id) ? null : id, eventName, userId, anonymousId, sessionId },
    ...{ eventTimeMs, receivedAtMs, properties },
  }
}

export function isRejection(outcome: Event | Rejection): outcome is Rejection {
  return 'code' in outcome
}

interface Ids {
  readonly userId: string
  readonly anonymousId: string | null
  readonly sessionId: string | null
  readonly sentId: string | null
}

function checkIds(raw: Record<string, unknown>): Ids | Rejection {
  const sentUserId = checkId(raw['userId'], 'userId')
  if (isFault(sentUserId)) return sentUserId
  const anonymousId = checkId(raw['anonymousId'], 'anonymousId')
  if (isFault(anonymousId)) return anonymousId
  const sessionId = checkId(raw['sessionId'], 'sessionId')
  if (isFault(sessionId)) return sessionId
  const sentId = checkId(raw['id'], 'id')
  if (isFault(sentId)) return sentId
  const userId = sentUserId ?? (anonymousId === null ? null : `anon:${anonymousId}`)
  if (userId === null)
    return rejection('INVALID_EVENT', 'one of userId and anonymousId is required')
  return { userId, anonymousId, sessionId, sentId }
}

function checkId(value: unknown, field: string): string | null | Rejection {
  if (value === undefined || value === null) return null
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return String(value)
  if (typeof value !== 'string' || value === '')
    return rejection(
      'INVALID_EVENT',
      `${field}: a non-empty string, or an integer from 0 to 2^53 - 1 (larger ones as strings)`,
    )
  if (value.length > ID_BYTES_MAX || Buffer.byteLength(value) > ID_BYTES_MAX)
    return rejection('INVALID_EVENT', `${field}: at most ${ID_BYTES_MAX} bytes`)
  if (!value.isWellFormed()) return rejection('INVALID_EVENT', `${field}: half of a surrogate pair`)
  return value
}

function isFault(id: string | null | Rejection): id is Rejection {
  return typeof id === 'object' && id !== null
}

function checkTime(time: unknown, { receivedAtMs, retentionDays }: CheckContext) {
  if (time === undefined || time === null) return receivedAtMs
  const timeMs = typeof time === 'string' ? parseIsoTimeMs(time) : time
  if (typeof timeMs !== 'number' || !Number.isSafeInteger(timeMs))
    return rejection(
      'INVALID_EVENT',
      'time: ISO 8601 with a zone, or integer milliseconds since 1970',
    )
  if (timeMs > receivedAtMs + FUTURE_MS_MAX)
    return rejection('TIME_OUT_OF_RANGE', 'time: more than 24 hours ahead')
  if (timeMs < receivedAtMs - retentionDays * DAY_MS)
    return rejection('TIME_OUT_OF_RANGE', `time: older than the ${retentionDays} days kept`)
  return timeMs
}

function checkProperties(properties: unknown, { stringify }: CheckContext): string | Rejection {
  if (properties === undefined || properties === null) return '{}'
  if (!isObject(properties)) return rejection('INVALID_EVENT', 'properties: a JSON object')
  const fault = checkShape(properties)
  return fault ?? stringify(properties)
}

// Depth comes first: JSON.stringify recurses, and a stack has an end.
function checkShape(properties: Record<string, unknown>): Rejection | null {
  let count = 0
  const open: { value: object; depth: number }[] = [{ value: properties, depth: 1 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next
    if (depth > PROPERTY_DEPTH_MAX)
      return rejection('INVALID_EVENT', `properties: at most ${PROPERTY_DEPTH_MAX} levels deep`)
    const children: unknown[] = Array.isArray(value) ? value : Object.values(value)
    if (!Array.isArray(value)) count += children.length
    if (count > PROPERTIES_PER_EVENT_MAX)
      return rejection('INVALID_EVENT', `properties: at most ${PROPERTIES_PER_EVENT_MAX} of them`)
    for (const child of children)
      if (typeof child === 'object' && child !== null && !isOpaqueNumber(child))
        open.push({ value: child, depth: depth + 1 })
  }
  return null
}

function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !isOpaqueNumber(value)
  )
}

function rejection(code: RejectionCode, message: string): Rejection {
  return { code, message }
}
