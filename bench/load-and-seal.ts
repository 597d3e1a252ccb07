// Until a project's events are sealed, and nothing is left to be merged.
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock as clock } from '../src/clock.ts'
import type { Root } from '../src/segment/root.ts'
import type { Stores } from '../src/store/stores.ts'
import type { DataSet } from './data-set.ts'
import { loadBlocks } from './load-blocks.ts'
import { openStoresOf } from './open-stores.ts'
import type { ServiceProcess } from './service-process.ts'

/** Longer than it takes until the sealer looks for merges again. */
const QUIET_MS = 40_000
const SEALED_TIMEOUT_MS = 1_800_000
const POLL_MS = 500

/**
 * Returns after how long `isSealed` held, and after how long the last publication came: it has been quiet
 * since for longer than the sealer waits to look for merges.
 */
export async function untilMerged(wait: {
  readonly stores: Stores
  readonly projectId: string
  readonly isSealed: (root: Root | null) => boolean
}): Promise<{ readonly sealedMs: number; readonly mergedMs: number }> {
  const { stores, projectId, isSealed } = wait
  const startedMs = clock.monotonicMs()
  let version = -1
  let changedMs = startedMs
  let sealedMs = NaN
  for (;;) {
    const { version: next, root } = await stores.snapshots.root(projectId)
    const nowMs = clock.monotonicMs()
    if (next !== version) changedMs = nowMs
    version = next
    if (Number.isNaN(sealedMs) && isSealed(root)) sealedMs = nowMs - startedMs
    if (!Number.isNaN(sealedMs) && nowMs - changedMs > QUIET_MS) break
    if (nowMs - startedMs > SEALED_TIMEOUT_MS) throw new Error('sealing takes too long')
    await sleep(POLL_MS)
  }
  return { sealedMs, mergedMs: changedMs - startedMs }
}

/** Loads and seals the data set; returns what that took. */
export async function loadAndSeal(service: ServiceProcess, projectId: string, dataSet: DataSet) {
  const { stores, close } = await openStoresOf(service)
  try {
    const loaded = await loadBlocks({ stores, projectId, dataSet, clock })
    const last = loaded.blocks - 1
    const isSealed = (root: Root | null) =>
      Object.values(root?.writers ?? {}).some(({ through }) => through === last)
    const { sealedMs, mergedMs } = await untilMerged({ stores, projectId, isSealed })
    return {
      ...{ events: loaded.events, loadS: loaded.tookMs / 1_000 },
      ...{ sealedS: (loaded.tookMs + sealedMs) / 1_000 },
      mergedS: (loaded.tookMs + mergedMs) / 1_000,
    }
  } finally {
    await close()
  }
}
