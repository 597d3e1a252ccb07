import { Hono } from 'hono'
import type { Metrics } from '../metrics.ts'
import type { AppEnv } from './app-env.ts'

/** Why the service cannot do its work; empty when it can. */
export type Readiness = () => Promise<readonly string[]>

export interface Health {
  readonly readiness: Readiness
  readonly connections: () => number
  readonly metrics: Metrics
}

/** Alive, ready, and the figures for Prometheus. */
export function healthRoutes({ readiness, connections, metrics }: Health) {
  return new Hono<AppEnv>()
    .get('/healthz', (c) => c.json({ status: 'alive' }))
    .get('/readyz', async (c) => {
      const reasons = await readiness()
      if (reasons.length === 0) return c.json({ status: 'ready' })
      return c.json({ status: 'not ready', reasons }, 503, { 'retry-after': '1' })
    })
    .get('/metrics', async (c) => {
      metrics.storeConnections.set(connections())
      const { contentType } = metrics.registry
      return c.body(await metrics.registry.metrics(), 200, { 'content-type': contentType })
    })
}
