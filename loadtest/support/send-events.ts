import { check } from 'k6'
import type { Response } from 'k6/http'
import { call, jsonOf } from './call.ts'
import { journeys, type SentEvent } from './journeys.ts'
import { noteAcknowledged, noteSent } from './ledger.ts'
import type { Project } from './project.ts'

const USERS_PER_REQUEST = 500

interface Taken {
  readonly accepted: number
  readonly rejected: readonly unknown[]
}

/** Sends events that were not sent before, and enters them into the ledger. True if all were accepted. */
export async function sendEvents(project: Project, events: readonly SentEvent[]) {
  noteSent(events.length)
  const response = await post(project, events)
  const taken = jsonOf<Taken>(response)
  if (taken !== null) noteAcknowledged(taken.accepted)
  if (response.status !== 503)
    check(taken, { 'all events are accepted': (answer) => answer?.accepted === events.length })
  return { response, isTaken: taken?.accepted === events.length }
}

/** Sends events once more, which is to change nothing but be accepted all the same. */
export async function resendEvents(project: Project, events: readonly SentEvent[]): Promise<void> {
  const taken = jsonOf<Taken>(await post(project, events))
  check(taken, { 'what is resent is accepted': (answer) => answer?.accepted === events.length })
}

/** For `setup`: sends the journeys of users 0 to `count` - 1. Throws unless all are accepted. */
export async function sendUsers(project: Project, count: number): Promise<void> {
  for (let first = 0; first < count; first += USERS_PER_REQUEST) {
    const users = Math.min(USERS_PER_REQUEST, count - first)
    const { response, isTaken } = await sendEvents(project, journeys(project, first, users))
    if (!isTaken) throw new Error(`the first events were not taken: ${response.status}`)
  }
}

async function post({ writeKey }: Project, events: readonly SentEvent[]): Promise<Response> {
  // A single event is sent as one, not as a list: both are ways of the API.
  const body = events.length === 1 ? events[0] : events
  return await call('POST', '/v1/events', { key: writeKey, name: 'ingest', body })
}
