import { randomBytes } from 'node:crypto'
import { HOUR_MS } from '../event/day.ts'
import { emptyRoot } from '../segment/root.ts'
import type { FoundRoot, Snapshots } from '../store/snapshots.ts'
import type { SealProject } from './write-segment.ts'

/** Reads what is published of a project; where nothing is, makes the root that it begins with. */
export function openRootNow({
  snapshots,
  nowMs,
}: {
  readonly snapshots: Snapshots
  readonly nowMs: () => number
}) {
  return async ({
    projectId,
    createdAtMs,
  }: Pick<SealProject, 'projectId' | 'createdAtMs'>): Promise<FoundRoot> => {
    const { version, root } = await snapshots.root(projectId)
    if (root !== null) return { version, root }
    const key = randomBytes(8)
    const hashKey = [key.readUInt32LE(0), key.readUInt32LE(4)] as const
    const hour = Math.floor(nowMs() / HOUR_MS)
    const sinceHour = Math.floor(createdAtMs / HOUR_MS)
    return { version, root: emptyRoot(hashKey, { hour, sinceHour }) }
  }
}
