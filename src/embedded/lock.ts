import { randomUUID } from 'node:crypto'
import { link, rm, writeFile } from 'node:fs/promises'
import process from 'node:process'
import { AppError } from '../error.ts'
import { codeOf, contentOf, identityOf, isAlive, type ProcessIdentity } from './os-process.ts'

export interface Lock {
  readonly release: () => Promise<void>
}

/**
 * Takes a lock that one process can have, as a file that names its owner. The lock of an owner that has
 * died is replaced; of several that try at one moment, exactly one gets it.
 *
 * Throws CONFLICT when the owner lives.
 */
export async function acquireLock(path: string): Promise<Lock> {
  const identity = await identityOf(process.pid)
  // Linked, not written, into its place: whoever sees the lock sees the whole of it.
  const own = `${path}.${randomUUID()}`
  await writeFile(own, JSON.stringify(identity), { mode: 0o600 })
  try {
    while (!(await tryLink(own, path))) await removeIfAbandoned(path)
  } finally {
    await rm(own)
  }
  return { release: () => rm(path, { force: true }) }
}

async function tryLink(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path)
    return true
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    return false
  }
}

async function removeIfAbandoned(path: string): Promise<void> {
  if (!(await isAbandoned(path))) return
  // Two that find the same dead owner must not both remove: the second would remove the first's lock.
  // This second lock is only ever held for an instant, and is itself replaced when its owner dies.
  const takeover = await acquireLock(`${path}.takeover`)
  try {
    if (await isAbandoned(path)) await rm(path)
  } finally {
    await takeover.release()
  }
}

/** Returns whether the lock is there and its owner dead. Throws CONFLICT when its owner lives. */
async function isAbandoned(path: string): Promise<boolean> {
  const content = await contentOf(path)
  if (content === null) return false
  const owner = JSON.parse(content) as ProcessIdentity
  if (!(await isAlive(owner))) return true
  throw new AppError(
    'CONFLICT',
    `already running (pid ${owner.pid}): it holds ${path}; stop it, or give another DATA_DIR`,
  )
}
