import type { HttpBindings } from '@hono/node-server'
import type { Project } from '../store/projects.ts'

/** What middleware hands on to routes. */
export interface AppEnv {
  Bindings: HttpBindings
  Variables: {
    requestId: string
    /** Set by `allow('write')` and `allow('read')`. */
    project: Project
  }
}
