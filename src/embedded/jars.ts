import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { AppError } from '../error.ts'
import type { Logger } from '../log.ts'
import { packageRoot } from '../package-root.ts'
import { codeOf, identityOf } from './os-process.ts'

const FETCH_TIMEOUT_MS = 900_000
// -C: a jar whose checksum is wrong is refused.
const MAVEN_ARGUMENTS = [
  ...['--quiet', '--batch-mode', '--strict-checksums', 'dependency:copy-dependencies'],
  ...['-DincludeScope=runtime', '-DoutputDirectory=lib'],
]

export interface Jars {
  readonly version: string
  /** Holds the jars, once they are there; never some of them. */
  readonly lib: string
  readonly areFetched: () => boolean
  readonly fetch: (mavenPath: string, log: Logger) => Promise<void>
}

/** Cassandra's published jars, as pinned by pom.xml, in a folder of the cache that bears its hash. */
export async function openJars(cacheDir: string): Promise<Jars> {
  const pom = await readFile(join(packageRoot(), 'src', 'embedded', 'pom.xml'), 'utf8')
  const version = /<artifactId>cassandra-all<\/artifactId>\s*<version>([^<]+)</.exec(pom)![1]!
  const hash = createHash('sha256').update(pom).digest('hex').slice(0, 8)
  const name = `cassandra-${version}-${hash}`
  const folder = join(cacheDir, name)
  const lib = join(folder, 'lib')

  async function fetch(mavenPath: string, log: Logger): Promise<void> {
    log.info({ folder }, `fetching Cassandra ${version} from Maven Central, once (70 MB)`)
    await mkdir(cacheDir, { recursive: true })
    await removeLeftovers(cacheDir, name)
    const partial = await mkdtemp(join(cacheDir, `${name}.${process.pid}.`))
    try {
      await writeFile(join(partial, 'pom.xml'), pom)
      await runMaven(mavenPath, partial)
      await rename(partial, folder).catch((error: unknown) => {
        // Another process was quicker; its jars are the same.
        if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error
      })
    } finally {
      await rm(partial, { recursive: true, force: true })
    }
  }

  return { version, lib, areFetched: () => existsSync(lib), fetch }
}

/** Removes what fetches of processes that were killed have left. */
async function removeLeftovers(cacheDir: string, name: string): Promise<void> {
  for (const entry of await readdir(cacheDir)) {
    if (!entry.startsWith(`${name}.`)) continue
    const pid = Number(entry.slice(name.length + 1).split('.')[0])
    if ((await identityOf(pid)) === null)
      await rm(join(cacheDir, entry), { recursive: true, force: true })
  }
}

async function runMaven(mavenPath: string, folder: string): Promise<void> {
  const options = { cwd: folder, timeout: FETCH_TIMEOUT_MS }
  await promisify(execFile)(mavenPath, MAVEN_ARGUMENTS, options).catch((error: unknown) => {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    const reason = `${stdout}\n${stderr}`.split('\n').find((line) => line.startsWith('[ERROR]'))
    throw new AppError(
      'EMBEDDED_UNAVAILABLE',
      `Maven could not fetch Cassandra's jars: ${reason ?? String(error)}`,
      { cause: error },
    )
  })
}
