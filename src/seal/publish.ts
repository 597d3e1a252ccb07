import { randomUUID } from 'node:crypto'
import { HOUR_MS } from '../event/day.ts'
import type { Erasure } from '../segment/erased-set.ts'
import { encodeRoot, type Root } from '../segment/root.ts'
import type { LooseObjects } from '../store/loose-objects.ts'
import type { Objects } from '../store/objects.ts'
import { isPassing } from '../store/retry.ts'
import type { Roots } from '../store/roots.ts'
import type { FoundRoot, PublishedRoot, Snapshots } from '../store/snapshots.ts'

/** What a pass or a merge wants to be the case, on the root that it began with. */
export interface Publication {
  readonly projectId: string
  readonly from: PublishedRoot
  readonly root: Root
  /** Objects that the new root leads to and the old one does not. */
  readonly added: readonly string[]
  /** Objects that the old root leads to and the new one does not. */
  readonly givenUp: readonly string[]
  readonly write: () => Promise<void>
  /** Whether it stands although these users were erased since; it does not where this is left out. */
  readonly isUntouchedBy?: (erasures: readonly Erasure[]) => boolean
}

export type Publish = ReturnType<typeof openPublish>

/**
 * The one way to change what is published: note what may become loose, write the new objects, note what is
 * given up, then compare and set the root. Whoever dies in between leaves notes behind, by which a sweep
 * finds what nothing leads to. An erasure that comes between stands in the way of those only that it concerns:
 * many of them would let nobody else publish.
 */
export function openPublish(dependencies: {
  readonly roots: Roots
  readonly objects: Objects
  readonly looseObjects: LooseObjects
  readonly snapshots: Snapshots
  readonly nowMs: () => number
}) {
  const { roots, objects, looseObjects, snapshots, nowMs } = dependencies

  /** Returns what is published now; null where somebody else published over the root first. */
  return async function publish(wanted: Publication): Promise<PublishedRoot | null> {
    const { projectId, from, added, givenUp } = wanted
    let hour = Math.max(wanted.root.hour, Math.floor(nowMs() / HOUR_MS))
    await looseObjects.note(projectId, hour, added)
    try {
      await wanted.write()
    } catch (error) {
      // Their notes may have been swept since, if this took hours.
      await Promise.allSettled(added.map((object) => objects.delete({ projectId, object })))
      throw error
    }
    await looseObjects.note(projectId, hour, givenUp)
    let { root } = wanted
    let { version } = from
    for (;;) {
      root = { ...root, hour, publication: randomUUID() }
      const isPublished = await settled(projectId, version, root)
      if (isPublished === true) return { version: version + 1, root }
      if (isPublished === null) return null
      const over = await erasedSince(wanted)
      if (over === null) break
      const { erased, erasureCount } = over.root
      version = over.version
      hour = Math.max(hour, over.root.hour)
      root = { ...root, erased, erasureCount }
    }
    // Nothing ever leads to them, and for once that is known.
    for (const object of added) await objects.delete({ projectId, object })
    return null
  }

  /** Returns the root of now where only erasures came between, and what is wanted stands beside them. */
  async function erasedSince(wanted: Publication): Promise<FoundRoot | null> {
    const { projectId, from, isUntouchedBy } = wanted
    if (from.version === 0 || from.root === null || isUntouchedBy === undefined) return null
    const { version, root } = await snapshots.root(projectId)
    const publicationCount = version - from.version
    // Nothing else came: no sweep either, which relies on it that what began before it comes to nothing.
    if (root?.erasureCount !== from.root.erasureCount + publicationCount) return null
    const before = await snapshots.erased(projectId, from.root)
    const { erasures } = await snapshots.erased(projectId, root)
    const isNew = ({ bucket, high, low, erasedAtMs }: Erasure) =>
      before.find(bucket, high, low)?.erasedAtMs !== erasedAtMs
    return isUntouchedBy(erasures.filter(isNew)) ? { version, root } : null
  }

  /** Compares and sets; returns null where the outcome cannot be known. */
  async function settled(projectId: string, version: number, root: Root): Promise<boolean | null> {
    try {
      return await roots.publish(projectId, version, encodeRoot(root))
    } catch (error) {
      if (!isPassing(error)) throw error
      const now = await snapshots.settledRoot(projectId)
      if (now.root?.publication === root.publication) return true
      // On its way still, or published over since; only if another took the place is it surely lost.
      return now.version === version + 1 ? false : null
    }
  }
}
