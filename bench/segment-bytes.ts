// What the published segments of a project hold, from their own lists; as written, before any file's framing.
import type { SegmentRef } from '../src/segment/directory.ts'
import { objectsOfRoot, type Root } from '../src/segment/root.ts'
import { BLOOM, IDS, TIME, TIME_HIGH, TIME_LOW, USER } from '../src/segment/section.ts'
import type { Stores } from '../src/store/stores.ts'

const KINDS: Readonly<Record<string, string>> = {
  ...{ [USER]: 'userAndTime', [TIME]: 'userAndTime', [TIME_LOW]: 'userAndTime' },
  ...{ [TIME_HIGH]: 'userAndTime', [IDS]: 'ids', [BLOOM]: 'bloom' },
}

/** Bytes by kind of column; `rows` in them. */
export async function segmentBytes(stores: Stores, projectId: string) {
  const { root } = await stores.snapshots.root(projectId)
  if (root === null) throw new Error('nothing is published')
  const refs = await segmentsOf(stores, projectId, root)
  const bytes: Record<string, number> = {}
  for (const ref of refs)
    for (const { columns } of await stores.snapshots.sections(projectId, ref))
      for (const [name, place] of Object.entries(columns)) {
        const kind = KINDS[name] ?? `property ${name.slice(2)}`
        bytes[kind] = (bytes[kind] ?? 0) + place.bytes
      }
  const rows = refs.reduce((sum, { rowCount }) => sum + rowCount, 0)
  return { segments: refs.length, rows, bytes }
}

async function segmentsOf(stores: Stores, projectId: string, { fresh, pages }: Root) {
  const refs: SegmentRef[] = [...fresh]
  for (const page of Object.values(pages))
    refs.push(...(await stores.snapshots.page(projectId, page)))
  return refs
}

/**
 * Deletes what the sweep would delete once its hours are over. Only while nobody seals. Returns how many
 * objects that were.
 */
export async function deleteLoose(stores: Stores, projectId: string, hours: readonly number[]) {
  const { root } = await stores.snapshots.settledRoot(projectId)
  if (root === null) return 0
  const refs = await segmentsOf(stores, projectId, root)
  const led = new Set([...objectsOfRoot(root), ...refs.map(({ segment }) => segment)])
  let count = 0
  for (const hour of hours)
    for (const object of await stores.looseObjects.list(projectId, hour)) {
      if (led.has(object)) continue
      await stores.objects.delete({ projectId, object })
      count++
    }
  return count
}
