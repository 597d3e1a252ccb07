import type { Ingest } from '../ingest/ingest.ts'
import type { LiveEventFeeds } from '../query/live-events.ts'
import type { Questions } from '../query/questions.ts'
import type { Erasures } from '../upkeep/erase-user.ts'
import type { Projects } from '../upkeep/projects.ts'
import type { Access } from './access.ts'
import type { Bodies } from './body.ts'
import { countRoutes } from './counts.ts'
import { docsRoutes } from './docs.ts'
import { eventRoutes } from './events.ts'
import { funnelRoutes } from './funnels.ts'
import { healthRoutes, type Health } from './health.ts'
import { liveRoutes } from './live.ts'
import { lookupRoutes } from './lookups.ts'
import { projectRoutes } from './projects.ts'
import { userRoutes } from './users.ts'

/** Every route that there is. */
export function allRoutes(dependencies: {
  readonly gate: { readonly access: Access; readonly bodies: Bodies }
  readonly ingest: Ingest
  readonly questions: Questions & { readonly live: LiveEventFeeds }
  readonly upkeep: { readonly projects: Projects; readonly erasures: Erasures }
  readonly health: Health
}) {
  const { gate, ingest, questions, upkeep, health } = dependencies
  return {
    /** Answered at the root. */
    rootRoutes: [healthRoutes(health), docsRoutes()],
    /** Answered under /v1. */
    routes: [
      eventRoutes({ ...gate, ingest }),
      funnelRoutes({ ...gate, ...questions }),
      lookupRoutes({ ...gate, ...questions }),
      liveRoutes({ ...gate, ...questions }),
      countRoutes({ ...gate, ...questions }),
      userRoutes({ ...gate, ...questions, ...upkeep }),
      projectRoutes({ ...gate, ...upkeep }),
    ],
  }
}
