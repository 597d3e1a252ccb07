import { isUtf8 } from 'node:buffer'
import { AppError } from '../error.ts'
import { parseExactJson } from '../event/exact-json.ts'
import { assertFewValues } from './json-values.ts'

export const EVENTS_PER_REQUEST_MAX = 1_000

/** The body of `POST /v1/events`, taken apart but not yet checked event by event. */
export interface EventBatch {
  readonly events: readonly unknown[]
  /** Writes properties back with the digits that they came with. */
  readonly stringify: (part: unknown) => string
}

/**
 * Reads one event, an array of events, or `{ events: […] }`. Throws INVALID_REQUEST for what is no such
 * thing, TOO_MANY_EVENTS for more than 1,000, BODY_TOO_LARGE for more values than so many events have.
 */
export function parseEventBatch(body: Buffer): EventBatch {
  if (!isUtf8(body)) throw new AppError('INVALID_REQUEST', 'the body is not UTF-8')
  assertFewValues(body)
  const { value, stringify } = parseJson(body.toString('utf8').replace(/^\ufeff/, ''))
  return { events: eventsOf(value), stringify }
}

function assertFewEvents(value: unknown): void {
  if (eventsOf(value).length > EVENTS_PER_REQUEST_MAX)
    throw new AppError('TOO_MANY_EVENTS', `at most ${EVENTS_PER_REQUEST_MAX} events a request`)
}

function parseJson(text: string) {
  try {
    return parseExactJson(text, assertFewEvents)
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new AppError('INVALID_REQUEST', 'the body is not JSON', { cause: error })
    throw error
  }
}

function eventsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  if (typeof value !== 'object' || value === null)
    throw new AppError('INVALID_REQUEST', 'send an event, an array of events, or { events: […] }')
  if (!('events' in value) || 'event' in value) return [value]
  if (Array.isArray(value.events)) return value.events
  throw new AppError('INVALID_REQUEST', 'events: an array is required')
}
