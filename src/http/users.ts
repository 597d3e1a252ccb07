import { Hono } from 'hono'
import { z } from 'zod'
import { USER_EVENTS_MAX, type UserEvents } from '../query/user-events.ts'
import type { StoredEvent } from '../store/event-row.ts'
import type { Erasures } from '../upkeep/erase-user.ts'
import { checked } from '../wire/check.ts'
import type { Access } from './access.ts'
import type { AppEnv } from './app-env.ts'

const Page = z.object({
  limit: z.coerce.number().int().min(1).max(USER_EVENTS_MAX).default(100),
  cursor: z.string().min(1).max(200).optional(),
})

/** One user: its events, newest first, and their erasure from all answers. */
export function userRoutes(dependencies: {
  readonly access: Access
  readonly userEvents: UserEvents
  readonly erasures: Erasures
}) {
  const { access, userEvents, erasures } = dependencies
  return new Hono<AppEnv>()
    .get('/users/:userId/events', access.allow('read'), async (c) => {
      const page = checked(Page, c.req.query(), 'INVALID_QUERY')
      const { events, cursor } = await userEvents.ask(c.var.project, c.req.param('userId'), page)
      const tail = cursor === undefined ? '' : `,"cursor":${JSON.stringify(cursor)}`
      return c.body(`{"events":[${events.map(eventJson).join()}]${tail}}`, 200, {
        'content-type': 'application/json',
      })
    })
    .delete('/users/:userId', access.allow('erase'), async (c) => {
      const { project, askedBy } = c.var
      const userId = c.req.param('userId')
      const { erasedAtMs } = await erasures.erase(project, { userId, askedBy })
      return c.json({ userId, erasedAt: new Date(erasedAtMs).toISOString() }, 202)
    })
}

// By hand, so that properties leave as they came: parsing them would round large numbers.
function eventJson(event: StoredEvent): string {
  const { id, eventName, userId, anonymousId, sessionId, eventTimeMs, receivedAtMs } = event
  const head = JSON.stringify({
    ...{ id, event: eventName, userId },
    ...(anonymousId === null ? {} : { anonymousId }),
    ...(sessionId === null ? {} : { sessionId }),
    time: new Date(eventTimeMs).toISOString(),
    receivedAt: new Date(receivedAtMs).toISOString(),
  })
  return `${head.slice(0, -1)},"properties":${event.properties}}`
}
