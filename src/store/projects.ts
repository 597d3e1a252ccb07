import type { types } from 'cassandra-driver'
import type { Session, Statement } from './session.ts'

const COLUMNS = 'project, name, time_zone, retention_days, week_start, created_at, destroyed_at'
const WRITE: Statement = {
  table: 'projects',
  operation: 'write',
  cql: `INSERT INTO projects (project, name, time_zone, retention_days, week_start, created_at)
    VALUES (?, ?, ?, ?, ?, ?)`,
}
const DESTROY: Statement = {
  table: 'projects',
  operation: 'destroy',
  cql: 'UPDATE projects SET destroyed_at = ? WHERE project = ?',
}
const READ: Statement = {
  table: 'projects',
  operation: 'read',
  cql: `SELECT ${COLUMNS} FROM projects WHERE project = ?`,
}
// The one read without a partition: the table has a row a project, and only administrators list it.
const LIST: Statement = {
  table: 'projects',
  operation: 'list',
  cql: `SELECT ${COLUMNS} FROM projects`,
}

export interface Project {
  readonly projectId: string
  readonly name: string
  /** IANA name. */
  readonly timeZone: string
  readonly retentionDays: number
  /** ISO: 1 Monday to 7 Sunday. */
  readonly weekStart: number
  readonly createdAtMs: number
}

export type Projects = ReturnType<typeof openProjects>

/** The tenants. A destroyed project is not returned by any read. */
export function openProjects(session: Session) {
  return {
    async write(project: Project): Promise<void> {
      const { projectId, name, timeZone, retentionDays, weekStart, createdAtMs } = project
      await session.execute(WRITE, [
        projectId,
        name,
        timeZone,
        retentionDays,
        weekStart,
        createdAtMs,
      ])
    },

    async destroy(projectId: string, nowMs: number): Promise<void> {
      await session.execute(DESTROY, [nowMs, projectId])
    },

    async read(projectId: string): Promise<Project | null> {
      const [row] = await session.execute(READ, [projectId])
      return row === undefined || row['destroyed_at'] !== null ? null : projectOf(row)
    },

    /** Returns all projects, oldest first. */
    async list(): Promise<Project[]> {
      const rows = await session.all(LIST, [])
      return rows
        .filter((row) => row['destroyed_at'] === null && row['name'] !== null)
        .map(projectOf)
        .sort((a, b) => a.createdAtMs - b.createdAtMs || (a.projectId < b.projectId ? -1 : 1))
    },
  }
}

function projectOf(row: types.Row): Project {
  return {
    projectId: row['project'] as string,
    name: row['name'] as string,
    timeZone: row['time_zone'] as string,
    retentionDays: row['retention_days'] as number,
    weekStart: row['week_start'] as number,
    createdAtMs: (row['created_at'] as Date).getTime(),
  }
}
