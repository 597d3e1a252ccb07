import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'

const KeptProject = z.object({
  name: z.string(),
  writeKey: z.string().optional(),
  readKey: z.string().optional(),
})
const KeyRing = z.object({
  firstProject: z.string().optional(),
  projects: z.record(z.string(), KeptProject),
})

export type KeptProject = z.output<typeof KeptProject>

/** The keys that this machine keeps for its own commands, by project id. */
export type KeyRing = z.output<typeof KeyRing>

/** Loads the keys of a data folder; none where none were kept. */
export async function loadKeyRing(dataDir: string): Promise<KeyRing> {
  const text = await readFile(pathOf(dataDir), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return null
  })
  return text === null ? { projects: {} } : KeyRing.parse(JSON.parse(text))
}

/** Keeps the keys, readable by their owner only; what was kept before stays whole until then. */
export async function saveKeyRing(dataDir: string, ring: KeyRing): Promise<void> {
  await mkdir(dataDir, { recursive: true })
  const path = pathOf(dataDir)
  await writeFile(`${path}.new`, `${JSON.stringify(ring, null, 2)}\n`, { mode: 0o600 })
  await rename(`${path}.new`, path)
}

/** Keeps the name of a project and some of its keys, beside those that are kept of it. */
export async function keepKeys(
  dataDir: string,
  projectId: string,
  kept: KeptProject,
): Promise<void> {
  const ring = await loadKeyRing(dataDir)
  const project = { ...ring.projects[projectId], ...kept }
  await saveKeyRing(dataDir, { ...ring, projects: { ...ring.projects, [projectId]: project } })
}

/** Forgets a project and its keys. */
export async function forgetKeys(dataDir: string, projectId: string): Promise<void> {
  const { firstProject, projects } = await loadKeyRing(dataDir)
  const left = Object.entries(projects).filter(([id]) => id !== projectId)
  await saveKeyRing(dataDir, {
    ...(firstProject === undefined || firstProject === projectId ? {} : { firstProject }),
    projects: Object.fromEntries(left),
  })
}

function pathOf(dataDir: string): string {
  return join(dataDir, 'keys.json')
}
