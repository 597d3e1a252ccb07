import { execFile } from 'node:child_process'
import { stderr } from 'node:process'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { loadConfig } from '../../src/config.ts'
import { findDocker } from '../../src/embedded/tools.ts'

const IMAGES = ['cassandra:5.0', 'node:20-slim']
const PULL_TIMEOUT_MS = 300_000

declare module 'vitest' {
  interface ProvidedContext {
    /** The path of the docker command; null where the tests with Docker cannot run. */
    docker: string | null
  }
}

const execute = promisify(execFile)

/** Runs once before the tests of the project `docker`. They are skipped where Docker is missing, and loudly. */
export async function setup(project: TestProject): Promise<() => void> {
  const { PATH, JAVA_HOME } = loadConfig()
  const docker = await findDocker({ searchPath: PATH, javaHome: JAVA_HOME })
  const missing = docker === null ? 'no Docker engine answers' : await missingOf(docker)
  project.provide('docker', missing === null ? docker : null)
  const tell = () => void (missing === null || stderr.write(skipped(missing)))
  tell()
  // Once more below the results, where the first is out of sight.
  return tell
}

/** Returns what is not there and cannot be had; null where nothing is missing. */
async function missingOf(docker: string): Promise<string | null> {
  const succeeds = (words: readonly string[], timeout: number) =>
    execute(docker, words, { timeout }).then(
      () => true,
      () => false,
    )
  if (!(await succeeds(['compose', 'version'], 20_000))) return 'there is no Docker Compose'
  for (const image of IMAGES) {
    if (await succeeds(['image', 'inspect', image], 20_000)) continue
    if (!(await succeeds(['pull', image], PULL_TIMEOUT_MS))) return `there is no image ${image}`
  }
  return null
}

function skipped(missing: string): string {
  const line = '!'.repeat(80)
  const text = `!!  SKIPPED, not passed: the tests of test/docker, since ${missing}.`
  return `\n${line}\n${text}\n${line}\n\n`
}
