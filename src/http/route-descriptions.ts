import { USER_EVENTS_MAX } from '../query/user-events.ts'
import { LOOKUP_ROUTES } from './lookup-descriptions.ts'
import { inPath, inQuery, type RouteDescription } from './route-description.ts'

/** Every route, by path as OpenAPI writes it, then by method. A test holds it against the app. */
export const ROUTES: Record<string, Record<string, RouteDescription>> = {
  '/v1/events': {
    post: {
      id: 'storeEvents',
      tag: 'Events',
      summary: 'Store events',
      description:
        'One event, an array, or { events: […] }. Answered when every accepted event is durable. A ' +
        'refused event has a code and a reason, and costs the others nothing. After a 503, or no answer, ' +
        'send the same batch again: with ids, nothing is counted twice.',
      key: 'write',
      body: 'EventBatch',
      answers: [[200, 'Accepted and rejected', 'IngestOutcome']],
      errors: ['TOO_MANY_EVENTS'],
    },
  },
  ...LOOKUP_ROUTES,
  '/v1/funnels': {
    post: {
      id: 'askFunnel',
      tag: 'Questions',
      summary: 'Ask a funnel',
      description:
        'How many users (or attempts, sessions, values of a property) go from step to step. A user counts by the ' +
        'longest chain of distinct events, in step order, with non-decreasing times, all within the window (its end ' +
        "included) of the chain's first event; the best chain over all entries. Events of one moment may be taken " +
        'in any order. Of several best chains the one with the most steps counts, then the one that begins first, ' +
        'then the one that has each step as early as it can: times, trend and values are told of that one. A ' +
        'client that goes away stops its question.',
      key: 'read',
      body: 'FunnelQuery',
      answers: [[200, 'The funnel', 'FunnelAnswer']],
      errors: ['INVALID_QUERY', 'NOT_FOUND', 'QUERY_TOO_LARGE', 'QUERY_TIMEOUT'],
    },
  },
  '/v1/funnels/users': {
    post: {
      id: 'listFunnelUsers',
      tag: 'Questions',
      summary: 'List the users behind a bar of a funnel',
      description:
        'Exactly the users that the funnel counts: who has a step, or who has the one before it and not that one. ' +
        'The times are those of the chain that the funnel counts; with attempts, sessions or hold a user is listed ' +
        'for each. All pages are of the moment of the first, and can be asked for during 45 minutes. With Accept: text/csv the columns are userId, ' +
        'enteredAt and reachedAt, the cursor is in X-Next-Cursor and asOf in X-As-Of; ids are told as they are, ' +
        'also those that a spreadsheet would take for a formula.',
      key: 'read',
      body: 'FunnelUsersQuery',
      answers: [[200, 'Users, in no order that matters', 'FunnelUsers', 'text/csv']],
      errors: [
        ...(['INVALID_QUERY', 'NOT_FOUND', 'CURSOR_EXPIRED'] as const),
        ...(['QUERY_TOO_LARGE', 'QUERY_TIMEOUT'] as const),
      ],
    },
  },
  '/v1/counts': {
    get: {
      id: 'countEvents',
      tag: 'Questions',
      summary: 'Count events by interval',
      description:
        'How often an event happened, or all of them. Hours and days are exact; minutes are those of the last ' +
        'two days, live and approximate, of one event. Every interval that overlaps the range is told whole.',
      key: 'read',
      parameters: [
        inQuery('event', 'Its name; all events where it is left out.', { type: 'string' }),
        inQuery('interval', 'Of the time zone.', {
          ...{ type: 'string', enum: ['minute', 'hour', 'day'], default: 'day' },
        }),
        inQuery('from', 'A date, or ISO 8601 with a zone. The default is 30 days, of minutes 60.', {
          type: 'string',
        }),
        inQuery('to', 'The same; not included. The default is now.', { type: 'string' }),
        inQuery('timeZone', 'By its IANA name; the project’s by default.', { type: 'string' }),
        inQuery('freshness', 'now: with all that was acknowledged before.', {
          ...{ type: 'string', enum: ['sealed', 'now'], default: 'sealed' },
        }),
      ],
      answers: [[200, 'Counts in the order of time', 'Counts']],
      errors: ['INVALID_QUERY'],
    },
  },
  '/v1/users/{userId}/events': {
    get: {
      id: 'listUserEvents',
      tag: 'Questions',
      summary: "List a user's newest events",
      key: 'read',
      parameters: [
        inPath('userId'),
        inQuery('limit', 'Events a page.', {
          ...{ type: 'integer', minimum: 1, maximum: USER_EVENTS_MAX },
          default: 100,
        }),
        inQuery('cursor', 'From the page before.', { type: 'string' }),
      ],
      answers: [[200, 'Events, newest first; none for an unknown user', 'UserEvents']],
      errors: ['INVALID_REQUEST', 'INVALID_QUERY', 'NOT_FOUND'],
    },
  },
  '/v1/users/{userId}': {
    delete: {
      id: 'eraseUser',
      tag: 'Questions',
      summary: 'Erase a user from all answers',
      description:
        'Of a user, known or not, all that was received until now is in no answer any more, whether it is ' +
        'sealed or waits. Events that come later are of a new person. Counts by hour and day cannot tell ' +
        'whose events they count, and go on counting what was sealed before.',
      key: 'erase',
      parameters: [inPath('userId')],
      answers: [[202, 'Erased from answers; what is stored is still to be removed', 'ErasedUser']],
      errors: ['INVALID_REQUEST', 'NOT_FOUND'],
    },
  },
  '/v1/projects': {
    get: {
      id: 'listProjects',
      tag: 'Projects',
      summary: 'List projects',
      key: 'admin',
      answers: [[200, 'Projects, oldest first', 'Projects']],
    },
    post: {
      id: 'createProject',
      tag: 'Projects',
      summary: 'Create a project',
      key: 'admin',
      body: 'NewProject',
      answers: [[201, 'The project and its keys', 'MadeProject']],
    },
  },
  '/v1/projects/{id}': {
    get: {
      id: 'readProject',
      tag: 'Projects',
      summary: 'Read a project',
      key: 'admin',
      parameters: [inPath('id')],
      answers: [[200, 'The project', 'Project']],
      errors: ['NOT_FOUND'],
    },
    patch: {
      id: 'changeProject',
      tag: 'Projects',
      summary: 'Change a project',
      description:
        'A shorter retention cuts every answer at once; a longer one holds for events stored from now on.',
      key: 'admin',
      parameters: [inPath('id')],
      body: 'ProjectChange',
      answers: [[200, 'The project as it is now', 'Project']],
      errors: ['NOT_FOUND'],
    },
    delete: {
      id: 'destroyProject',
      tag: 'Projects',
      summary: 'Destroy a project',
      description: 'Its keys are void at once; its events leave with their retention.',
      key: 'admin',
      parameters: [inPath('id')],
      answers: [[204, 'Destroyed']],
      errors: ['NOT_FOUND'],
    },
  },
  '/v1/projects/{id}/keys': {
    get: {
      id: 'listKeys',
      tag: 'Projects',
      summary: 'List the keys of a project',
      key: 'admin',
      parameters: [inPath('id')],
      answers: [[200, 'Keys, without the secrets', 'Keys']],
      errors: ['NOT_FOUND'],
    },
    post: {
      id: 'addKey',
      tag: 'Projects',
      summary: 'Add a key',
      key: 'admin',
      parameters: [inPath('id')],
      body: 'NewKey',
      answers: [[201, 'The key, told this once', 'MadeKey']],
      errors: ['NOT_FOUND', 'CONFLICT'],
    },
  },
  '/v1/projects/{id}/keys/{keyId}': {
    delete: {
      id: 'revokeKey',
      tag: 'Projects',
      summary: 'Revoke a key',
      description: 'Void at once in the process that answers, within 5 seconds in others.',
      key: 'admin',
      parameters: [inPath('id'), inPath('keyId')],
      answers: [[204, 'Revoked']],
      errors: ['NOT_FOUND'],
    },
  },
  '/healthz': {
    get: {
      id: 'isAlive',
      tag: 'Operation',
      summary: 'Tell that the process is alive',
      answers: [[200, 'Alive', 'Alive']],
    },
  },
  '/readyz': {
    get: {
      id: 'isReady',
      tag: 'Operation',
      summary: 'Tell whether Cassandra is reachable and the schema current',
      answers: [
        [200, 'Ready', 'Ready'],
        [503, 'Not ready, with reasons', 'Ready'],
      ],
    },
  },
  '/metrics': {
    get: {
      id: 'readMetrics',
      tag: 'Operation',
      summary: 'Read the figures for Prometheus',
      answers: [[200, 'Prometheus text format', 'text/plain']],
    },
  },
  '/openapi.json': {
    get: {
      id: 'readDocument',
      tag: 'Operation',
      summary: 'Read this document',
      answers: [[200, 'OpenAPI 3.1', 'application/json']],
    },
  },
  '/docs': {
    get: {
      id: 'showDocument',
      tag: 'Operation',
      summary: 'Show this document to people',
      answers: [[200, 'A page', 'text/html']],
    },
  },
}
