import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { randomBase62 } from '../upkeep/projects.ts'

const SECRET_LENGTH = 32

/** Returns the configured admin key, else the one kept under DATA_DIR; null where there is none. */
export async function findAdminKey(config: Pick<Config, 'ADMIN_KEY' | 'DATA_DIR'>) {
  if (config.ADMIN_KEY !== undefined) return config.ADMIN_KEY
  const text = await readFile(pathOf(config.DATA_DIR), 'utf8').catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      return ''
    },
  )
  return text.trim() === '' ? null : text.trim()
}

/** Returns the admin key; makes and keeps one where there is none. */
export async function loadAdminKey(config: Pick<Config, 'ADMIN_KEY' | 'DATA_DIR'>) {
  const found = await findAdminKey(config)
  if (found !== null) return { adminKey: found, isNew: false }
  const adminKey = `tf_a_${randomBase62(SECRET_LENGTH)}`
  await mkdir(config.DATA_DIR, { recursive: true })
  try {
    await writeFile(pathOf(config.DATA_DIR), `${adminKey}\n`, { mode: 0o600, flag: 'wx' })
    return { adminKey, isNew: true }
  } catch (error) {
    // Another service of the same folder has made one at the same moment.
    const other = await findAdminKey(config)
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || other === null) throw error
    return { adminKey: other, isNew: false }
  }
}

function pathOf(dataDir: string): string {
  return join(dataDir, 'admin-key')
}
