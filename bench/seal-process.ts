// The sealer in a process of its own, beside a service with SEALING=off.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { systemClock as clock } from '../src/clock.ts'
import type { ServiceProcess } from './service-process.ts'

// At its end the process tells what it used; its threads run this too, and keep silent.
const TELL_USAGE = `import { isMainThread } from 'node:worker_threads'
import { writeSync } from 'node:fs'
if (isMainThread) process.on('exit', () => writeSync(2, JSON.stringify(process.resourceUsage()) + '\\n'))`

export interface SealRun {
  readonly events: number
  /** From the start of the process to its end. */
  readonly tookMs: number
  /** Of all its threads, user and system. */
  readonly cpuMs: number
  readonly peakMb: number
}

export function spawnSeal(
  { dataDir }: Pick<ServiceProcess, 'dataDir'>,
  values: readonly string[],
  nodeValues: readonly string[] = [],
): ChildProcess {
  return spawn(process.execPath, [...nodeValues, 'dist/cli.js', 'seal', ...values], {
    env: { ...process.env, DATA_DIR: dataDir, LOG_LEVEL: 'error', CASSANDRA_CONTACT_POINTS: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Seals and merges what waits, and ends. */
export async function sealOnce(service: Pick<ServiceProcess, 'dataDir'>): Promise<SealRun> {
  const startedMs = clock.monotonicMs()
  const tellUsage = `data:text/javascript,${encodeURIComponent(TELL_USAGE)}`
  const child = spawnSeal(service, ['--once', '--json'], ['--import', tellUsage])
  const [printed, said, [code]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, 'exit') as Promise<[number | null]>,
  ])
  if (code !== 0) throw new Error(`seal --once ended with ${code}:\n${said}`)
  const tookMs = clock.monotonicMs() - startedMs
  const { events } = JSON.parse(printed) as { events: number }
  const usage = JSON.parse(said.trim().split('\n').at(-1)!) as NodeJS.ResourceUsage
  return {
    ...{ events, tookMs },
    cpuMs: (usage.userCPUTime + usage.systemCPUTime) / 1_000,
    peakMb: usage.maxRSS / 1_024,
  }
}
