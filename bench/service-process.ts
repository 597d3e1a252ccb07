import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

const READY_TIMEOUT_MS = 120_000
const POLL_MS = 200

export interface ServiceProcess {
  readonly url: string
  readonly pid: number
  readonly dataDir: string
  readonly adminKey: string
  /** Stops it as an operator would, and removes its data. */
  readonly close: () => Promise<void>
}

/** Starts the built service with an embedded Cassandra of its own, in a temporary folder. */
export async function startServiceProcess(
  environment: Readonly<Record<string, string>> = {},
): Promise<ServiceProcess> {
  const dataDir = await mkdtemp(join(tmpdir(), 'thousandfold-bench-'))
  const log = await open(join(dataDir, 'service.log'), 'w')
  const child = spawn(process.execPath, ['dist/cli.js', 'start'], {
    env: {
      ...{ ...process.env, DEMO: 'off', PORT: '0', CASSANDRA_PORT: '0', DATA_DIR: dataDir },
      ...environment,
    },
    stdio: ['ignore', log.fd, log.fd],
  })
  await log.close()
  const { url } = await waitForService(child, dataDir)
  const adminKey = (await readFile(join(dataDir, 'admin-key'), 'utf8')).trim()
  return {
    ...{ url, pid: child.pid!, dataDir, adminKey },
    async close() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
      await rm(dataDir, { recursive: true })
    },
  }
}

/** Resolves when the service has written where it listens. */
export async function waitForService(
  child: ChildProcess,
  dataDir: string,
): Promise<{ url: string }> {
  for (let waitedMs = 0; waitedMs < READY_TIMEOUT_MS; waitedMs += POLL_MS) {
    if (child.exitCode !== null) break
    const text = await readFile(join(dataDir, 'service.json'), 'utf8').catch(() => null)
    if (text !== null) return JSON.parse(text) as { url: string }
    await sleep(POLL_MS)
  }
  const log = await readFile(join(dataDir, 'service.log'), 'utf8').catch(() => '')
  throw new Error(`the service did not start:\n${log}`)
}

/** Makes a project; returns its id and keys. */
export async function makeProject({ url, adminKey }: ServiceProcess) {
  const response = await fetch(`${url}/v1/projects`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}` },
    body: JSON.stringify({ name: 'bench' }),
  })
  if (response.status !== 201) throw new Error(`no project: ${await response.text()}`)
  return (await response.json()) as { id: string; writeKey: string; readKey: string }
}

/** Peak and present resident memory of a process, in MB. */
export async function memoryMb(pid: number): Promise<{ peakMb: number; presentMb: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const kilobytes = (field: string) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1])
  return { peakMb: kilobytes('VmHWM') / 1024, presentMb: kilobytes('VmRSS') / 1024 }
}
