import { Hono } from 'hono'
import type { FunnelQuestions } from '../query/funnel.ts'
import { checked } from '../wire/check.ts'
import { FunnelQuery } from '../wire/funnel-query.ts'
import type { Access } from './access.ts'
import type { AppEnv } from './app-env.ts'
import type { Bodies } from './body.ts'
import { parseJsonBody } from './json-body.ts'

/** Funnels. A client that goes away stops its question. */
export function funnelRoutes(dependencies: {
  readonly access: Access
  readonly bodies: Bodies
  readonly funnels: FunnelQuestions
}) {
  const { access, bodies, funnels } = dependencies
  return new Hono<AppEnv>().post('/funnels', access.allow('read'), (c) =>
    bodies.withBody(c, async (body) => {
      const query = checked(FunnelQuery, parseJsonBody(body), 'INVALID_QUERY')
      return c.json(await funnels.ask(c.var.project, query, goneSignal(c.env.outgoing)))
    }),
  )
}

function goneSignal(outgoing: AppEnv['Bindings']['outgoing']): AbortSignal {
  const gone = new AbortController()
  outgoing.once('close', () => gone.abort())
  if (outgoing.destroyed) gone.abort()
  return gone.signal
}
