import { Hono, type MiddlewareHandler } from 'hono'
import { requestId } from 'hono/request-id'
import { matchedRoutes } from 'hono/route'
import { AppError } from '../error.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { AppEnv } from './app-env.ts'
import { errorResponse } from './error-response.ts'

/** Puts the route groups together: request ids, metrics, one way out for errors. */
export function openApp(dependencies: {
  /** Answered under /v1. */
  readonly routes: readonly Hono<AppEnv>[]
  /** Answered at the root. */
  readonly rootRoutes: readonly Hono<AppEnv>[]
  readonly metrics: Metrics
  readonly log: Logger
}) {
  const { routes, rootRoutes, metrics, log } = dependencies
  const app = new Hono<AppEnv>()
  app.use(requestId({ limitLength: 128 }), measured(metrics, log))
  for (const group of rootRoutes) app.route('/', group)
  for (const group of routes) app.route('/v1', group)
  for (const path of new Set(app.routes.map((route) => route.path)))
    if (!path.includes('*')) app.all(path, otherMethods(app, path))
  app.notFound(() => {
    throw new AppError('NOT_FOUND', 'no such path')
  })
  app.onError((error, c) => errorResponse(error, c, log))
  return app
}

function measured(metrics: Metrics, log: Logger): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const endTimer = metrics.httpRequest.startTimer()
    metrics.httpInFlight.inc()
    try {
      await next()
    } finally {
      metrics.httpInFlight.dec()
      // The path as declared: one as sent would have no bound, and may hold a user id.
      const route = matchedRoutes(c).findLast(({ path }) => !path.includes('*'))?.path ?? 'none'
      const labels = { route, method: c.req.method, status: c.res.status }
      const durationS = endTimer(labels)
      log.debug({ requestId: c.var.requestId, ...labels, durationS }, 'answered')
    }
  }
}

function otherMethods(app: Hono<AppEnv>, path: string): MiddlewareHandler<AppEnv> {
  const methods = app.routes
    .filter((route) => route.path === path && route.method !== 'ALL')
    .map(({ method }) => method)
  const allowed = [...new Set(methods)].join(', ')
  return (c) => {
    c.header('allow', allowed)
    throw new AppError('METHOD_NOT_ALLOWED', `this path takes ${allowed}`)
  }
}
