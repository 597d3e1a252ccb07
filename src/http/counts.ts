import { Hono } from 'hono'
import type { CountQuestions } from '../query/counts.ts'
import { checked } from '../wire/check.ts'
import { CountsQuery } from '../wire/counts-query.ts'
import type { Access } from './access.ts'
import type { AppEnv } from './app-env.ts'

/** How often events happened, by interval. */
export function countRoutes({
  access,
  counts,
}: {
  readonly access: Access
  readonly counts: CountQuestions
}) {
  return new Hono<AppEnv>().get('/counts', access.allow('read'), async (c) =>
    c.json(await counts.ask(c.var.project, checked(CountsQuery, c.req.query(), 'INVALID_QUERY'))),
  )
}
