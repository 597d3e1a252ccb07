// Goal: the process ends when it is told to, whatever Cassandra went through before.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, inject, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../src/package-root.ts'
import { temporaryFolder } from '../support/data-dir.ts'
import { send } from '../support/http-client.ts'
import { openTestKeyspace } from '../support/keyspace.ts'
import { openProxy } from '../support/proxy.ts'

/** Well within SHUTDOWN_TIMEOUT_MS, at which the service gives up. */
const STOP_MS_MAX = 15_000

const { keyspace } = await openTestKeyspace()
const folder = await temporaryFolder()
afterAll(folder.remove)
const { contactPoints, localDataCenter, service } = inject('database')
const proxy = await openProxy(contactPoints[0]!)
afterAll(proxy.close)

test('a service that lived through an outage ends in time, and with 0', async () => {
  const child = spawn(process.execPath, [join(packageRoot(), 'dist', 'cli.js'), 'serve'], {
    stdio: 'ignore',
    env: {
      ...{ PATH: process.env['PATH'], DATA_DIR: folder.path, PORT: '0' },
      ...{ CASSANDRA_CONTACT_POINTS: proxy.contactPoint, CASSANDRA_LOCAL_DC: localDataCenter },
      CASSANDRA_KEYSPACE: keyspace,
      CASSANDRA_USERNAME: service?.username,
      CASSANDRA_PASSWORD: service?.password,
    },
  })
  const exited = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  const readiness = async () => {
    const file = await readFile(join(folder.path, 'service.json'), 'utf8').catch(() => null)
    if (file === null) return null
    const { url } = JSON.parse(file) as { url: string }
    return (await send(`${url}/readyz`)).status
  }

  await expect.poll(readiness, { timeout: 40_000 }).toBe(200)
  for (let outage = 0; outage < 2; outage++) {
    proxy.cut()
    await expect.poll(readiness, { timeout: 20_000 }).toBe(503)
    proxy.mend()
    await expect.poll(readiness, { timeout: 20_000 }).toBe(200)
  }

  const startMs = performance.now()
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
  expect(performance.now() - startMs).toBeLessThan(STOP_MS_MAX)
}, 120_000)
