import { Hono } from 'hono'
import { z } from 'zod'
import { USER_EVENTS_MAX, type UserEvents } from '../query/user-events.ts'
import type { Erasures } from '../upkeep/erase-user.ts'
import { checked } from '../wire/check.ts'
import type { Access } from './access.ts'
import type { AppEnv } from './app-env.ts'
import { eventsAnswer } from './event-json.ts'

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
      return eventsAnswer(c, await userEvents.ask(c.var.project, c.req.param('userId'), page))
    })
    .delete('/users/:userId', access.allow('erase'), async (c) => {
      const { project, askedBy } = c.var
      const userId = c.req.param('userId')
      const { erasedAtMs } = await erasures.erase(project, { userId, askedBy })
      return c.json({ userId, erasedAt: new Date(erasedAtMs).toISOString() }, 202)
    })
}
