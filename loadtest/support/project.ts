import { call, jsonOf } from './call.ts'
import { ADMIN_KEY, READ_KEY, WRITE_KEY } from './settings.ts'

const RUNS_MAX = 9_000_000
const USERS_PER_RUN = 1_000_000_000
const RETENTION_DAYS = 7
const HOUR_MS = 3_600_000

/** Where a run stores its events, and under which names: no other run has the same. Crosses to all as JSON. */
export interface Project {
  /** Null where the keys were given: then the project stays. */
  readonly id: string | null
  readonly writeKey: string
  readonly readKey: string
  /** Begins the names of all events of this run. */
  readonly prefix: string
  readonly firstUserId: number
  /** The range of all questions: an hour before the run to a day after. */
  readonly range: { readonly from: string; readonly to: string }
}

/** For `setup`: makes a project with ADMIN_KEY, or takes the one of WRITE_KEY and READ_KEY. Throws without either. */
export async function openProject(): Promise<Project> {
  const run = Math.floor(Math.random() * RUNS_MAX)
  const nowMs = Date.now()
  return {
    ...(await keys()),
    prefix: `load_${run.toString(36)}_`,
    firstUserId: run * USERS_PER_RUN,
    range: {
      from: new Date(nowMs - HOUR_MS).toISOString(),
      to: new Date(nowMs + 24 * HOUR_MS).toISOString(),
    },
  }
}

/** For the end of `teardown`: deletes the project that was made. */
export async function closeProject({ id }: Project): Promise<void> {
  if (id === null || ADMIN_KEY === undefined) return
  const { status } = await call('DELETE', `/v1/projects/${id}`, { key: ADMIN_KEY, name: 'project' })
  if (status !== 204) throw new Error(`the project ${id} is still there: status ${status}`)
}

async function keys(): Promise<{ id: string | null; writeKey: string; readKey: string }> {
  if (WRITE_KEY !== undefined && READ_KEY !== undefined)
    return { id: null, writeKey: WRITE_KEY, readKey: READ_KEY }
  if (ADMIN_KEY === undefined) throw new Error('give ADMIN_KEY, or WRITE_KEY and READ_KEY')
  const body = { name: 'load test', retentionDays: RETENTION_DAYS }
  const response = await call('POST', '/v1/projects', { key: ADMIN_KEY, name: 'project', body })
  const made = jsonOf<{ id: string; writeKey: string; readKey: string }>(response)
  if (made === null) throw new Error(`no project was made: ${response.status} ${response.error}`)
  return made
}
