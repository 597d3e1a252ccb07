import { Hono } from 'hono'
import type { Catalogue } from '../query/catalogue.ts'
import type { Search } from '../query/search.ts'
import { checked } from '../wire/check.ts'
import { EventNameQuery } from '../wire/names-query.ts'
import { SearchQuery } from '../wire/search-query.ts'
import type { Access } from './access.ts'
import type { AppEnv } from './app-env.ts'
import type { Bodies } from './body.ts'
import { eventsAnswer } from './event-json.ts'
import { goneSignal } from './gone-signal.ts'
import { parseJsonBody } from './json-body.ts'

/** Stored events, and what there is to ask about. A client that goes away stops its search. */
export function lookupRoutes(dependencies: {
  readonly access: Access
  readonly bodies: Bodies
  readonly search: Search
  readonly catalogue: Catalogue
}) {
  const { access, bodies, search, catalogue } = dependencies
  return new Hono<AppEnv>()
    .post('/events/search', access.allow('read'), (c) =>
      bodies.withBody(c, async (body) => {
        const query = checked(SearchQuery, parseJsonBody(body), 'INVALID_QUERY')
        const gone = goneSignal(c.env.outgoing)
        return eventsAnswer(c, await search.ask(c.var.project, query, gone))
      }),
    )
    .get('/events/names', access.allow('read'), async (c) =>
      c.json(await catalogue.names(c.var.project)),
    )
    .get('/events/properties', access.allow('read'), async (c) => {
      const { event } = checked(EventNameQuery, c.req.query(), 'INVALID_QUERY')
      return c.json(await catalogue.properties(c.var.project, event))
    })
}
