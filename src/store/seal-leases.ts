import { types } from 'cassandra-driver'
import type { Session, Statement } from './session.ts'

const CLAIM: Statement = {
  table: 'seal_leases',
  operation: 'claim',
  cql: 'INSERT INTO seal_leases (project, holder) VALUES (?, ?) IF NOT EXISTS',
}
const RENEW: Statement = {
  table: 'seal_leases',
  operation: 'renew',
  cql: 'UPDATE seal_leases SET holder = ? WHERE project = ? IF holder = ?',
}

/** How long a claim lasts, by the table's TTL. */
export const LEASE_MS = 20_000

export type SealLeases = ReturnType<typeof openSealLeases>

/** Who seals which project. Only saves work: nothing is wrong when two sealers hold a lease at once. */
export function openSealLeases(session: Session) {
  return {
    async claim(projectId: string, holder: string): Promise<boolean> {
      return await session.compareAndSet(CLAIM, [projectId, types.Uuid.fromString(holder)])
    },

    async renew(projectId: string, holder: string): Promise<boolean> {
      const id = types.Uuid.fromString(holder)
      return await session.compareAndSet(RENEW, [id, projectId, id])
    },
  }
}
