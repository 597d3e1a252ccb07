import { z } from 'zod'
import {
  EVENT_BYTES_MAX,
  EVENT_NAME_LENGTH_MAX,
  ID_BYTES_MAX,
  PROPERTIES_PER_EVENT_MAX,
  PROPERTY_DEPTH_MAX,
} from '../event/check-event.ts'
import { EVENTS_PER_REQUEST_MAX } from './event-batch.ts'
import { FunnelQuery } from './funnel-query.ts'
import { FunnelUsersQuery } from './funnel-users-query.ts'
import { NewKey, NewProject, ProjectChange } from './project.ts'
import { SearchQuery } from './search-query.ts'

// Of events and answers these are descriptions only: an event is checked by event/check-event.ts, one
// by one, so that a bad one does not cost its batch.
const id = z.string().min(1).max(ID_BYTES_MAX)
const isoTime = z.iso.datetime().meta({ examples: ['2026-11-30T12:00:00.123Z'] })
const count = z.number().int().min(0)
const share = z.number().min(0).max(1)
const properties = z.record(z.string(), z.unknown())
const cursor = z.string().optional().meta({ description: 'For the next page; absent at the end.' })

const SentEvent = z
  .object({
    id: id.optional().meta({
      description:
        'Made by the sender. The same id of the same user, event name and UTC day is one event, so that a ' +
        'batch can be sent again. Without it, every sending is an event of its own.',
    }),
    event: z.string().min(1).max(EVENT_NAME_LENGTH_MAX).meta({ description: 'What happened.' }),
    userId: z
      .union([id, z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)])
      .optional()
      .meta({ description: 'Required without anonymousId. 4711 and "4711" are the same user.' }),
    anonymousId: id.optional().meta({ description: 'Required without userId.' }),
    sessionId: id.optional(),
    time: z
      .union([z.string(), z.number().int()])
      .optional()
      .meta({
        description:
          'ISO 8601 with a zone, or milliseconds since 1970; the time of arrival by default. At most 24 ' +
          'hours ahead, and within the retention of the project.',
      }),
    properties: properties.optional().meta({
      description:
        `Kept as sent, numbers with all their digits. At most ${PROPERTIES_PER_EVENT_MAX} of them, ` +
        `${PROPERTY_DEPTH_MAX} levels deep; an event takes at most ${EVENT_BYTES_MAX} bytes.`,
    }),
  })
  .meta({
    examples: [
      {
        id: '0191d0a4-5c1e-7e3a-9f57-6a1f0c2b7d11',
        event: 'page_view',
        userId: 4711,
        time: '2026-11-30T12:00:00.123Z',
        properties: { path: '/pricing', price: 9.5, trial: true },
      },
    ],
  })

const sentEvents = z.array(SentEvent).max(EVENTS_PER_REQUEST_MAX)
const EventBatch = z.union([SentEvent, sentEvents, z.object({ events: sentEvents })])

const IngestOutcome = z
  .object({
    accepted: count.meta({ description: 'Durable now; resent copies count too.' }),
    rejected: z.array(
      z.object({
        index: count.meta({ description: 'Place in the batch, from 0.' }),
        code: z.enum(['INVALID_EVENT', 'TIME_OUT_OF_RANGE', 'EVENT_TOO_LARGE', 'USER_LIMIT']),
        message: z.string(),
      }),
    ),
  })
  .meta({
    examples: [
      {
        accepted: 1,
        rejected: [
          {
            index: 1,
            code: 'INVALID_EVENT',
            message: 'one of userId and anonymousId is required',
          },
        ],
      },
    ],
  })

const ms = z.number().nullable()
const times = { medianMs: ms, meanMs: ms, p90Ms: ms }

const StepResult = z.object({
  label: z.string(),
  users: count,
  fromPrevious: z.number().min(0).meta({
    description: 'A share; more than 1 only after a step that is optional.',
  }),
  fromFirst: share,
  medianMs: ms.meta({ description: 'From the step before, with timeToConvert.' }),
  ...{ meanMs: ms, p90Ms: ms },
})

const steps = z.array(StepResult)
const RangeAnswer = z.object({
  steps,
  breakdown: z
    .array(z.object({ value: z.string(), steps }))
    .optional()
    .meta({
      description: 'Values beyond the limit are in "$other", users without one in "$none".',
    }),
  trend: z
    .array(
      z.object({
        from: isoTime,
        steps,
        open: z.boolean().meta({ description: 'Whether windows of its entries are not over yet.' }),
      }),
    )
    .optional()
    .meta({ description: 'By interval of the entry.' }),
  timeToConvert: z
    .object(times)
    .optional()
    .meta({ description: 'From the first step to the last.' }),
  histogram: z.array(z.object({ fromMs: z.number(), toMs: z.number(), users: count })).optional(),
})

const FunnelAnswer = RangeAnswer.extend({
  compare: RangeAnswer.extend({ from: isoTime, to: isoTime }).optional(),
  unit: z.string().meta({
    description:
      'What the steps count: users, attempts, sessions or the property that is counted by; with hold, by what.',
  }),
  asOf: isoTime.meta({ description: 'What was acknowledged before this moment is counted.' }),
  definition: z.string().meta({ description: 'What is counted, in one sentence.' }),
  warnings: z.array(z.string()),
  source: z.enum(['segments', 'events']),
  ageMs: z.number().meta({
    description: 'How long ago the answer was begun: equal questions share one for 5 seconds.',
  }),
  read: z.object({ partitions: count, bytes: count, events: count, cacheHitBytes: count }),
  tookMs: z.object({ plan: z.number(), read: z.number(), fold: z.number(), total: z.number() }),
})

const FunnelUsers = z.object({
  users: z.array(
    z.object({
      userId: z.string(),
      enteredAt: isoTime.meta({ description: 'The first event of the chain.' }),
      reachedAt: isoTime.meta({ description: 'The last step that the outcome is about.' }),
    }),
  ),
  asOf: isoTime.meta({ description: 'What was acknowledged before this moment is considered.' }),
  cursor,
})

const Counts = z.object({
  counts: z.array(
    z.object({
      time: isoTime.meta({ description: 'When the interval begins.' }),
      count,
      approximate: z.boolean(),
    }),
  ),
  interval: z.enum(['minute', 'hour', 'day']),
  asOf: isoTime,
})

const StoredEvent = z.object({
  id: z.string(),
  event: z.string(),
  userId: z.string(),
  anonymousId: z.string().optional(),
  sessionId: z.string().optional(),
  time: isoTime,
  receivedAt: isoTime,
  properties,
})
const UserEvents = z.object({ events: z.array(StoredEvent), cursor })
const FoundEvents = UserEvents.meta({
  description:
    'Newest first. A page may have fewer events than its limit, even none, and a cursor.',
})

const EventNames = z.object({
  events: z.array(
    z.object({
      event: z.string(),
      firstSeen: isoTime.meta({ description: 'The time of its earliest event.' }),
      lastSeen: isoTime.meta({ description: 'That of its latest, or up to an hour before it.' }),
    }),
  ),
})
const Properties = z.object({
  properties: z.array(
    z.object({
      property: z.string().meta({ description: 'As conditions name it: a dotted path.' }),
      types: z.array(z.enum(['string', 'number', 'boolean'])),
      values: z
        .array(z.union([z.string(), z.number(), z.boolean()]))
        .optional()
        .meta({ description: 'Up to 50 examples; absent where there are none, or more values.' }),
    }),
  ),
})

const ErasedUser = z.object({
  userId: z.string(),
  erasedAt: isoTime.meta({ description: 'What was received by then is gone.' }),
})

const Project = z.object({
  id: z.string(),
  name: z.string(),
  timeZone: z.string(),
  retentionDays: z.number().int(),
  weekStart: z.number().int(),
  createdAt: isoTime,
})
const MadeProject = Project.extend({ writeKey: z.string(), readKey: z.string() }).meta({
  description: 'The keys are told here and never again: only their hashes are kept.',
})

const Key = z.object({
  keyId: z.string(),
  kind: z.enum(['write', 'read']),
  rights: z.array(z.string()),
  alsoKnownAs: z.array(z.string()),
})
const MadeKey = Key.extend({ key: z.string() })
const ListedKey = Key.extend({ createdAt: isoTime })

const Ready = z.object({
  status: z.enum(['ready', 'not ready']),
  reasons: z.array(z.string()).optional(),
})

const NAMED = {
  ...{ SentEvent, EventBatch, IngestOutcome, FunnelQuery, FunnelAnswer, Counts, UserEvents },
  ...{ FunnelUsersQuery, FunnelUsers, ErasedUser },
  ...{ SearchQuery, FoundEvents, EventNames, Properties },
  ...{ NewProject, ProjectChange, Project, MadeProject, NewKey, MadeKey, Ready },
  Projects: z.object({ projects: z.array(Project) }),
  Keys: z.object({ keys: z.array(ListedKey) }),
  Alive: z.object({ status: z.literal('alive') }),
}

export type SchemaName = keyof typeof NAMED

/** Returns what crosses the network as JSON Schema 2020-12, by name. */
export function jsonSchemas(): Record<SchemaName, object> {
  const entries = Object.entries(NAMED).map(([name, schema]) => {
    const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema, {
      io: 'input', // as sent: what the checks make of it is nobody else's business
      override: ({ zodSchema, jsonSchema: shown }) => {
        // Left out by zod where a transform follows, in case they are of what it returns: ours are sent.
        const { examples } = z.globalRegistry.get(zodSchema) ?? {}
        if (examples !== undefined) shown.examples = examples as unknown[]
      },
    })
    return [name, jsonSchema]
  })
  return Object.fromEntries(entries) as Record<SchemaName, object>
}
