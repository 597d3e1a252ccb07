import { stringify } from 'csv-stringify/sync'
import { Hono, type Context } from 'hono'
import { accepts } from 'hono/accepts'
import type { FunnelQuestions } from '../query/funnel.ts'
import type { FunnelUserLists, FunnelUsersPage } from '../query/funnel-users.ts'
import { checked } from '../wire/check.ts'
import { FunnelQuery } from '../wire/funnel-query.ts'
import { FunnelUsersQuery } from '../wire/funnel-users-query.ts'
import type { Access } from './access.ts'
import type { AppEnv } from './app-env.ts'
import type { Bodies } from './body.ts'
import { goneSignal } from './gone-signal.ts'
import { parseJsonBody } from './json-body.ts'

const CSV_TYPE = 'text/csv'
const TYPES = ['application/json', CSV_TYPE]

/** Funnels, and the users behind their bars. A client that goes away stops its question. */
export function funnelRoutes(dependencies: {
  readonly access: Access
  readonly bodies: Bodies
  readonly funnels: FunnelQuestions
  readonly funnelUsers: FunnelUserLists
}) {
  const { access, bodies, funnels, funnelUsers } = dependencies
  return new Hono<AppEnv>()
    .post('/funnels', access.allow('read'), (c) =>
      bodies.withBody(c, async (body) => {
        const query = checked(FunnelQuery, parseJsonBody(body), 'INVALID_QUERY')
        return c.json(await funnels.ask(c.var.project, query, goneSignal(c.env.outgoing)))
      }),
    )
    .post('/funnels/users', access.allow('read'), (c) =>
      bodies.withBody(c, async (body) => {
        const query = checked(FunnelUsersQuery, parseJsonBody(body), 'INVALID_QUERY')
        const page = await funnelUsers.ask(c.var.project, query, goneSignal(c.env.outgoing))
        c.header('vary', 'accept')
        const type = accepts(c, { header: 'Accept', supports: TYPES, default: TYPES[0]! })
        return type === CSV_TYPE ? csvAnswer(c, page) : c.json(page)
      }),
    )
}

// Ids are told as they are, also those that a spreadsheet takes for a formula.
function csvAnswer(c: Context<AppEnv>, { users, asOf, cursor }: FunnelUsersPage): Response {
  const csv = stringify([...users], {
    ...{ header: true, columns: ['userId', 'enteredAt', 'reachedAt'], record_delimiter: '\r\n' },
    // The library quotes whole delimiters only.
    quoted_match: /[\r\n]/,
  })
  return c.body(csv, 200, {
    'content-type': `${CSV_TYPE}; charset=utf-8; header=present`,
    'x-as-of': asOf,
    ...(cursor === undefined ? {} : { 'x-next-cursor': cursor }),
  })
}
