import { Hono } from 'hono'
import { metricsText, type Metrics, type MetricsJson } from '../metrics.ts'
import type { AppEnv } from './app-env.ts'

/** Why the service cannot do its work; empty when it can. */
export type Readiness = () => Promise<readonly string[]>

export interface Health {
  readonly readiness: Readiness
  readonly connections: () => number
  readonly metrics: Metrics
  /** What the other threads measured; those that are too busy to say are left out. */
  readonly threadMetrics: () => Promise<readonly MetricsJson[]>
}

/** Alive, ready, and the figures for Prometheus. */
export function healthRoutes({ readiness, connections, metrics, threadMetrics }: Health) {
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
      const parts = [await metrics.registry.getMetricsAsJSON(), ...(await threadMetrics())]
      return c.body(await metricsText(parts), 200, { 'content-type': contentType })
    })
}
