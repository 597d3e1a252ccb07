import { inQuery, type RouteDescription } from './route-description.ts'

const eventName = { type: 'string', minLength: 1, maxLength: 200 }

/** The routes that look up events and their names. */
export const LOOKUP_ROUTES: Record<string, Record<string, RouteDescription>> = {
  '/v1/events/search': {
    post: {
      id: 'searchEvents',
      tag: 'Questions',
      summary: 'Search stored events',
      description:
        'Events of the range as they were sent, newest first, of one user where userId is given. The conditions are ' +
        'those of a funnel. A page ends with what was found once it has read about 30,000 rows or 5,000 partitions, so ' +
        'it may have fewer events than its limit, even none: go on while there is a cursor. An event that was sent ' +
        'again with another time of the same UTC day is its newest copy, and is told once. A client that goes away ' +
        'stops its search.',
      key: 'read',
      body: 'SearchQuery',
      answers: [[200, 'Events, newest first', 'FoundEvents']],
      errors: ['INVALID_QUERY', 'NOT_FOUND', 'QUERY_TIMEOUT'],
    },
  },
  '/v1/events/names': {
    get: {
      id: 'listEventNames',
      tag: 'Questions',
      summary: 'List the event names that there are',
      description:
        'The first 2,000 that the project had, by their text, without those whose events are all beyond the retention.',
      key: 'read',
      answers: [[200, 'Event names', 'EventNames']],
      errors: ['INVALID_REQUEST', 'NOT_FOUND'],
    },
  },
  '/v1/events/properties': {
    get: {
      id: 'listProperties',
      tag: 'Questions',
      summary: 'List the properties of an event name',
      description:
        'Up to 200 a name; of all names together the first 10,000. Examples are values of a sample of the newest ' +
        'events, the most frequent first.',
      key: 'read',
      parameters: [inQuery('event', 'Its name; all names where it is left out.', eventName)],
      answers: [[200, 'Properties; none for an unknown name', 'Properties']],
      errors: ['INVALID_REQUEST', 'INVALID_QUERY', 'NOT_FOUND'],
    },
  },
  '/v1/events/live': {
    get: {
      id: 'listenToEvents',
      tag: 'Questions',
      summary: 'Listen to events as they arrive',
      description:
        'Server-sent events, of all that is sent once the stream has begun, whichever process of the service takes ' +
        'it in, within about a second. A message `event` brings an event as a search tells it, in JSON; ' +
        '`dropped` tells, as { "count": n }, how many were left out since the client read too slowly: more than ' +
        '10,000 events or 4 MiB would have waited. A copy of one of the last 20,000 events of the project is not told. A ' +
        'comment comes every 15 seconds. It ends when the key is revoked or the service stops; Last-Event-ID is ' +
        'ignored. At most 20 listen to a project and 100 to a process at a time; the next one is OVERLOADED.',
      key: 'read',
      parameters: [inQuery('event', 'Only events of this name.', eventName)],
      answers: [[200, 'Events until the connection is closed', 'text/event-stream']],
      errors: ['INVALID_REQUEST', 'INVALID_QUERY', 'NOT_FOUND'],
    },
  },
}
