import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, inject, test } from 'vitest'
import { loadKeyRing } from '../../src/cli/key-ring.ts'
import { registerStart } from '../../src/cli/start.ts'
import { runCommand } from '../support/command-line.ts'
import { temporaryFolder } from '../support/data-dir.ts'
import { dropTestKeyspace, keyspaceName } from '../support/keyspace.ts'

// The built threads are started: `npm run build` comes first.
const FILL_TIMEOUT_MS = 30_000

const keyspace = keyspaceName()
afterAll(() => dropTestKeyspace(keyspace))
const folder = await temporaryFolder()
afterAll(folder.remove)
const { contactPoints, localDataCenter, service, migration } = inject('database')
const environment = {
  ...{ DATA_DIR: folder.path, PORT: '0', LOG_LEVEL: 'silent', CASSANDRA_KEYSPACE: keyspace },
  ...{ CASSANDRA_CONTACT_POINTS: contactPoints.join(','), CASSANDRA_LOCAL_DC: localDataCenter },
  CASSANDRA_REPLICATION: `${localDataCenter}:1`,
  CASSANDRA_USERNAME: service?.username ?? '',
  CASSANDRA_PASSWORD: service?.password ?? '',
  CASSANDRA_MIGRATION_USERNAME: migration?.username ?? '',
  CASSANDRA_MIGRATION_PASSWORD: migration?.password ?? '',
}

/** How much of the demo is sent; null before it is made. */
async function demoSentCount(): Promise<number | null> {
  const text = await readFile(join(folder.path, 'demo.json'), 'utf8').catch(() => null)
  return text === null ? null : (JSON.parse(text) as { sentCount: number }).sentCount
}

/** Starts everything, does some work beside it, stops it; returns what it said. */
async function whileStarted(words: readonly string[], work: () => Promise<void>) {
  const stop = new AbortController()
  const ended = runCommand(registerStart, ['start', ...words], environment, stop.signal)
  const running = () => readFile(join(folder.path, 'service.json'), 'utf8').then(() => true)
  try {
    await expect.poll(() => running().catch(() => false), { timeout: 60_000 }).toBe(true)
    await work()
  } finally {
    stop.abort()
  }
  return await ended
}

const projectCount = async () => Object.keys((await loadKeyRing(folder.path)).projects).length

test('a start without the demo makes the first project alone', async () => {
  const { code, out } = await whileStarted(['--no-demo'], async () => {
    await expect.poll(projectCount, { timeout: 30_000 }).toBe(1)
  })
  expect([code, out.includes('demo project')]).toEqual([0, false])
  expect(await demoSentCount()).toBe(null)
})

test('a start makes the demo, says how to ask it, and can be stopped while it is filled', async () => {
  const { code, out, errors } = await whileStarted([], async () => {
    await expect.poll(demoSentCount, { timeout: FILL_TIMEOUT_MS }).toBeGreaterThan(0)
  })
  expect([code, errors]).toEqual([0, ''])
  expect(out).toMatch(/\n {2}demo project {12}\w{12}\n/)
  expect(out).toMatch(/npx thousandfold funnel '.* > purchase' --project demo --by device\n/)
  expect(await projectCount()).toBe(2)
})
