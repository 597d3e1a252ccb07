import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Makes an empty folder of its own, absolute and without symbolic links. */
export async function temporaryFolder() {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'thousandfold-')))
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) }
}
