import { HOUR_MS } from '../event/day.ts'
import { LOOSE_HOURS_MAX, objectsOfRoot, type Root } from '../segment/root.ts'
import type { LooseObjects } from '../store/loose-objects.ts'
import type { Objects } from '../store/objects.ts'
import type { Roots } from '../store/roots.ts'
import type { Snapshots } from '../store/snapshots.ts'
import { openPublish } from './publish.ts'

/** Where nothing is loose, how far it was looked is told so often, to save publications. */
const HOURS_UNTOLD_MAX = 24

/**
 * Deletes what nothing leads to. An hour's notes are looked at when it and the next are over. The root is
 * published again, unchanged, between reading the notes and looking what it leads to: whoever noted an
 * object and has not published it by then never will, since the version that they began with is gone.
 */
export function openSweep(dependencies: {
  readonly roots: Roots
  readonly objects: Objects
  readonly looseObjects: LooseObjects
  readonly snapshots: Snapshots
  readonly nowMs: () => number
}) {
  const { objects, looseObjects, snapshots, nowMs } = dependencies
  const publish = openPublish(dependencies)

  async function republish(projectId: string, change: Partial<Root>) {
    const from = await snapshots.root(projectId)
    if (from.root === null) return null
    const root = { ...from.root, ...change }
    return await publish({ projectId, from, root, added: [], givenUp: [], write: async () => {} })
  }

  async function reachable(projectId: string, root: Root): Promise<Set<string>> {
    const found = new Set(objectsOfRoot(root))
    for (const pageId of Object.values(root.pages))
      for (const { segment } of await snapshots.page(projectId, pageId)) found.add(segment)
    return found
  }

  /** Returns how many objects were deleted. */
  return async function sweep(projectId: string): Promise<number> {
    const { root } = await snapshots.root(projectId)
    if (root === null) return 0
    const hour = Math.max(root.hour, Math.floor(nowMs() / HOUR_MS))
    const endHour = hour - 1
    const hours: number[] = []
    const loose: string[] = []
    for (let past = Math.max(root.sweptHour, hour - LOOSE_HOURS_MAX); past < endHour; past++) {
      const noted = await looseObjects.list(projectId, past)
      if (noted.length > 0) hours.push(past)
      for (const object of noted) loose.push(object)
    }
    if (root.sweptHour >= endHour) return 0
    if (loose.length > 0) {
      const fence = await republish(projectId, {})
      if (fence === null || fence.root === null) return 0
      const led = await reachable(projectId, fence.root)
      const gone = [...new Set(loose)].filter((object) => !led.has(object))
      for (const object of gone) await objects.delete({ projectId, object })
      for (const past of hours) await looseObjects.forget(projectId, past)
      await republish(projectId, { sweptHour: endHour })
      return gone.length
    }
    if (endHour - root.sweptHour >= HOURS_UNTOLD_MAX)
      await republish(projectId, { sweptHour: endHour })
    return 0
  }
}
