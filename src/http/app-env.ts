import type { HttpBindings } from '@hono/node-server'
import type { Project } from '../store/projects.ts'

/** What middleware hands on to routes. */
export interface AppEnv {
  Bindings: HttpBindings
  Variables: {
    requestId: string
    /** Set by `allow`: whose data, and the id of the key that asks, or `admin`. */
    project: Project
    askedBy: string
  }
}
