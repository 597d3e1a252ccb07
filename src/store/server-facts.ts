import { types } from 'cassandra-driver'
import type { Session, Statement } from './session.ts'

const LOCAL: Statement = {
  table: 'system.local',
  operation: 'read',
  cql: `SELECT release_version, toTimestamp(now()) AS server_time FROM system.local
    WHERE key = 'local'`,
  consistency: types.consistencies.localOne,
}
const FORBIDDEN: Statement = {
  table: 'projects',
  operation: 'probe',
  cql: "SELECT project FROM projects WHERE name = '' ALLOW FILTERING",
}

/** What a cluster tells of itself to those who log in. */
export function openServerFacts(session: Session) {
  return {
    async read() {
      const [row] = await session.execute(LOCAL)
      return {
        version: row!['release_version'] as string,
        nowMs: (row!['server_time'] as Date).getTime(),
        hostsUp: session.hostsUp(),
      }
    },

    /** Whether this role is refused what guardrails forbid. Needs the table `projects`. */
    async isFilteringRefused(): Promise<boolean> {
      try {
        await session.execute(FORBIDDEN)
        return false
      } catch (error) {
        if (String(error).includes('ALLOW FILTERING')) return true
        throw error
      }
    },
  }
}
