import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { z } from 'zod'
import { identityOf, isAlive } from '../embedded/os-process.ts'

const ServiceFile = z.object({
  url: z.string(),
  contactPoints: z.array(z.string()),
  localDataCenter: z.string(),
  pid: z.number().int(),
  startTicks: z.number().nullable(),
})

/** Where the service of a data folder listens, which Cassandra it uses, and what process it is. */
export type ServiceFile = z.output<typeof ServiceFile>

/** Writes the file for this process. */
export async function writeServiceFile(
  dataDir: string,
  service: Pick<ServiceFile, 'url' | 'contactPoints' | 'localDataCenter'>,
): Promise<void> {
  const path = pathOf(dataDir)
  await mkdir(dataDir, { recursive: true })
  const file = { ...service, ...(await identityOf(process.pid)) }
  await writeFile(`${path}.new`, `${JSON.stringify(file, null, 2)}\n`)
  await rename(`${path}.new`, path)
}

/** Removes the file, if it is this process's own. */
export async function removeServiceFile(dataDir: string): Promise<void> {
  const service = await readServiceFile(dataDir)
  if (service?.pid === process.pid) await rm(pathOf(dataDir), { force: true })
}

/** Returns null where no service runs, or the one that wrote the file has ended. */
export async function readServiceFile(dataDir: string): Promise<ServiceFile | null> {
  const text = await readFile(pathOf(dataDir), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return null
  })
  const parsed = text === null ? null : ServiceFile.safeParse(JSON.parse(text))
  return parsed?.success && (await isAlive(parsed.data)) ? parsed.data : null
}

function pathOf(dataDir: string): string {
  return join(dataDir, 'service.json')
}
