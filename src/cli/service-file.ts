import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'

const ServiceFile = z.object({
  url: z.string(),
  pid: z.number().int(),
  contactPoints: z.array(z.string()),
  localDataCenter: z.string(),
})

/** Where the service of a data folder listens, and which Cassandra it uses. */
export type ServiceFile = z.output<typeof ServiceFile>

export async function writeServiceFile(dataDir: string, service: ServiceFile): Promise<void> {
  const path = pathOf(dataDir)
  await writeFile(`${path}.new`, `${JSON.stringify(service, null, 2)}\n`)
  await rename(`${path}.new`, path)
}

export async function removeServiceFile(dataDir: string): Promise<void> {
  await rm(pathOf(dataDir), { force: true })
}

/** Returns null where no service runs, or the one that wrote the file has ended. */
export async function readServiceFile(dataDir: string): Promise<ServiceFile | null> {
  const text = await readFile(pathOf(dataDir), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return null
  })
  if (text === null) return null
  const service = ServiceFile.parse(JSON.parse(text))
  return isAlive(service.pid) ? service : null
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // EPERM: it lives, and is somebody else's.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function pathOf(dataDir: string): string {
  return join(dataDir, 'service.json')
}
