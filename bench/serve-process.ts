import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { readServiceFile } from '../src/cli/service-file.ts'
import { keptLogins } from '../src/embedded/database.ts'
import { waitForService, type ServiceProcess } from './service-process.ts'

/** Starts another process of the service, with empty caches, on the Cassandra of a running one. */
export async function startServeProcess(
  beside: ServiceProcess,
  environment: Readonly<Record<string, string>> = {},
): Promise<ServiceProcess> {
  const running = await readServiceFile(beside.dataDir)
  if (running === null) throw new Error(`no service runs in ${beside.dataDir}`)
  const logins = await keptLogins(beside.dataDir)
  const dataDir = await mkdtemp(join(tmpdir(), 'thousandfold-bench-'))
  const child = spawn(process.execPath, ['dist/cli.js', 'serve'], {
    env: {
      ...process.env,
      ...{ PORT: '0', DATA_DIR: dataDir, ADMIN_KEY: beside.adminKey, LOG_LEVEL: 'warn' },
      CASSANDRA_CONTACT_POINTS: running.contactPoints.join(),
      CASSANDRA_USERNAME: logins.service.username,
      CASSANDRA_PASSWORD: logins.service.password,
      ...environment,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const { url } = await waitForService(child, dataDir)
  return {
    ...{ url, pid: child.pid!, dataDir, adminKey: beside.adminKey },
    async close() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
      await rm(dataDir, { recursive: true })
    },
  }
}
