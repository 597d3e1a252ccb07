import { Hono } from 'hono'
import { cors } from 'hono/cors'
import type { Ingest } from '../ingest/ingest.ts'
import { parseEventBatch } from '../wire/event-batch.ts'
import type { Access } from './access.ts'
import type { AppEnv } from './app-env.ts'
import type { Bodies } from './body.ts'

/** The way in for events. Answered when every accepted one is durable; each refused one has a reason. */
export function eventRoutes(dependencies: {
  readonly access: Access
  readonly bodies: Bodies
  readonly ingest: Ingest
}) {
  const { access, bodies, ingest } = dependencies
  return new Hono<AppEnv>()
    .use('/events', cors({ origin: (origin) => origin, credentials: true, maxAge: 86_400 }))
    .post('/events', access.allow('write'), (c) =>
      bodies.withBody(c, async (body) => {
        const { project } = c.var
        return c.json(await ingest.accept(project, parseEventBatch(body)))
      }),
    )
}
