import { systemClock as clock } from './clock.ts'
import type { Config } from './config.ts'
import { openAccess } from './http/access.ts'
import { openApp } from './http/app.ts'
import { openBodies } from './http/body.ts'
import { allRoutes } from './http/routes.ts'
import { listen } from './http/server.ts'
import { openIngestPath } from './ingest/ingest-path.ts'
import type { Logger } from './log.ts'
import { declareMetrics } from './metrics.ts'
import { openAdmission } from './query/admission.ts'
import { openFoldPool } from './query/fold-pool.ts'
import { openLiveEvents } from './query/live-events.ts'
import { openQuestions } from './query/questions.ts'
import { warmUp } from './query/warm-up.ts'
import { openSealThread } from './seal/seal-thread.ts'
import { openReadiness } from './store/readiness.ts'
import { openSession, type SessionOptions } from './store/session.ts'
import { openStores } from './store/stores.ts'
import { openErasures } from './upkeep/erase-user.ts'
import { openProjectUpkeep } from './upkeep/projects.ts'

export type Database = Pick<
  SessionOptions,
  'contactPoints' | 'localDataCenter' | 'credentials' | 'onWarning'
>

/** The threads beside this one: for folding, and for sealing. Each has a session of its own. */
function openThreads(config: Config, { onWarning, ...address }: Database, log: Logger) {
  const database = { ...address, keyspace: config.CASSANDRA_KEYSPACE }
  const logLevel = config.LOG_LEVEL
  const pool = openFoldPool({
    ...{ threadCount: config.QUERY_THREADS, start: { database, logLevel }, onWarning, log },
  })
  const sealing = openSealThread({
    ...{ start: { database, logLevel, isSealing: config.SEALING === 'on' }, onWarning, log },
  })
  return {
    ...{ pool, sealing },
    threadMetrics: async () => [...(await pool.metrics()), ...(await sealing.metrics())],
    closeThreads: async (giveUp: AbortSignal) =>
      void (await Promise.all([pool.close(giveUp), sealing.close(giveUp)])),
  }
}

/** Runs the service: session, tables, ingest, questions, routes, listening; ends them in reverse. */
export async function openService(
  config: Config,
  database: Database,
  adminKey: string,
  log: Logger,
) {
  const metrics = declareMetrics()
  const session = await openSession({
    ...database,
    keyspace: config.CASSANDRA_KEYSPACE,
    metrics,
    log,
  })
  const stores = openStores(session)
  const path = openIngestPath({ stores, limits: config, clock, metrics, log })
  const { pool, sealing, closeThreads, threadMetrics } = openThreads(config, database, log)
  const threads = { pool, sealNow: sealing.sealNow }
  const live = openLiveEvents({ stores, clock, log })
  const questions = openQuestions({ stores, threads, limits: config, clock, metrics })
  // One after the other: two at once would only be in each other's way.
  const admit = openAdmission({ kind: 'erasure', inFlightMax: 1, metrics })
  const upkeep = {
    projects: openProjectUpkeep({ ...stores, clock }),
    erasures: openErasures({ stores, admit, clock }),
  }

  const access = openAccess({ ...stores, adminKey, clock })
  const bodies = openBodies(config.BODY_BYTES_IN_FLIGHT_MAX)
  const connections = session.connections
  const health = { readiness: openReadiness(session), connections, metrics, threadMetrics }
  const asked = { ...questions, live }
  const routes = allRoutes({ gate: { access, bodies }, ...path, questions: asked, upkeep, health })
  const app = openApp({ ...routes, metrics, log })
  async function closeAll(giveUp: AbortSignal): Promise<void> {
    try {
      await path.close(giveUp)
      await closeThreads(giveUp)
    } finally {
      await session.close()
    }
  }
  await pool.hasBegun
  await warmUp({ ...stores, pool, clock }).catch((error: unknown) => {
    log.warn({ err: error }, 'the first question will be slower')
  })
  const server = await listen(app, { host: config.HOST, port: config.PORT }).catch(
    async (error: unknown) => {
      await closeAll(AbortSignal.abort())
      throw error
    },
  )

  return {
    url: server.url,
    async close(): Promise<void> {
      const giveUp = AbortSignal.timeout(config.SHUTDOWN_TIMEOUT_MS)
      live.close()
      await server.close(giveUp)
      await closeAll(giveUp)
    },
  }
}
