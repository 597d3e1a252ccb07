import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)

const ANSWER_TIMEOUT_MS = 20_000
const JAVA_VERSION = '17'

export interface ToolPlaces {
  /** Folders to look in, as in PATH. */
  readonly searchPath: string
  readonly javaHome: string | undefined
}

/** Returns the path of a program in the folders of `searchPath`, the first one first; null for none. */
export async function findProgram(name: string, searchPath: string): Promise<string | null> {
  for (const folder of searchPath.split(delimiter)) {
    const path = join(folder, name)
    if (folder !== '' && (await isExecutable(path))) return path
  }
  return null
}

export interface FoundJava {
  /** Null when there is no Java 17. */
  readonly path: string | null
  /** Every other Java that was met, as `21 (/usr/bin/java)`. */
  readonly others: readonly string[]
}

/** Looks for Java 17, which Cassandra 5.0 runs on, in JAVA_HOME and then on the search path. */
export async function findJava({ searchPath, javaHome }: ToolPlaces): Promise<FoundJava> {
  const others: string[] = []
  const ofHome = javaHome === undefined ? null : await findProgram('java', join(javaHome, 'bin'))
  for (const path of [ofHome, await findProgram('java', searchPath)]) {
    if (path === null) continue
    const version = await javaVersion(path)
    if (version === JAVA_VERSION) return { path, others }
    others.push(`${version} (${path})`)
  }
  return { path: null, others }
}

/** Returns the path of a docker client whose engine answers; null when there is none. */
export async function findDocker({ searchPath }: ToolPlaces): Promise<string | null> {
  const path = await findProgram('docker', searchPath)
  if (path === null) return null
  const answer = execute(path, ['version', '--format', '{{.Server.Version}}'], {
    timeout: ANSWER_TIMEOUT_MS,
  })
  return answer.then(
    () => path,
    () => null, // A client without an engine is no Docker.
  )
}

// `1.8.0_392` is what Java 8 calls itself.
async function javaVersion(path: string): Promise<string> {
  const answer = execute(path, ['-version'], { timeout: ANSWER_TIMEOUT_MS })
  const text = await answer.then(
    ({ stdout, stderr }) => stderr + stdout,
    () => '', // What cannot tell its version is no Java 17, and is told so.
  )
  return /version "(?:1\.)?(\d+)/.exec(text)?.[1] ?? 'unknown'
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
