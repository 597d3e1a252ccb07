import { access, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { afterAll, describe, expect, test } from 'vitest'
import { systemClock as clock } from '../../src/clock.ts'
import { openDatabase, type Database } from '../../src/embedded/database.ts'
import { holdsWithin, identityOf } from '../../src/embedded/os-process.ts'
import { temporaryFolder } from '../support/data-dir.ts'
import {
  asMigration,
  asService,
  embeddedConfig,
  inSession,
  nodePid,
  silentLog,
  startServiceProcess,
  statement,
  type Node,
  type ServiceProcess,
} from '../support/embedded.ts'

// One folder, and the life of its node from the first start on: a start costs ten seconds, so the tests
// go through four of them in this order.
const folder = await temporaryFolder()
const dataDir = folder.path
const SILENCE_MS = 500
/** Longer than a role or a right is cached. */
const CACHE_TIMEOUT_MS = 10_000
const WRITE_COUNT = 200

let database: Database | undefined
let service: ServiceProcess | undefined
afterAll(async () => {
  await service?.kill()
  await database?.close()
  // Only where a test has failed half-way.
  const pid = await nodePid(dataDir).catch(() => null)
  if (pid !== null && (await isRunning(pid))) process.kill(pid, 'SIGKILL')
  await folder.remove()
})

const open = () =>
  openDatabase({
    ...{ config: embeddedConfig(dataDir), log: silentLog, clock },
    orphanAnswerTimeoutMs: SILENCE_MS,
  })
const INSERT = statement('INSERT INTO notes.notes (id, body) VALUES (?, ?)')
const insert = (node: Node, id: number) => asService(node, INSERT.cql, [id, 'kept'])
const bodyOf = async (node: Node, id: number) => {
  const rows = await asService(node, 'SELECT body FROM notes.notes WHERE id = ?', [id])
  return rows[0]?.['body'] as unknown
}
const isRunning = async (pid: number) => (await identityOf(pid)) !== null

describe('first start', () => {
  test('of two services that start at once on a folder exactly one gets it', async () => {
    const starts = await Promise.allSettled([open(), open()])
    const won = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []))
    const lost = starts.flatMap((start) => (start.status === 'rejected' ? [start.reason] : []))
    database = won[0]!
    expect(won).toHaveLength(1)
    expect(lost).toMatchObject([{ code: 'CONFLICT' }])
    await expect(open()).rejects.toThrow(`already running (pid ${process.pid})`)
  })

  test('only its user can read the passwords, and the well-known one opens nothing', async () => {
    const { mode } = await stat(join(dataDir, 'cassandra', 'credentials.json'))
    expect(mode & 0o777).toBe(0o600)
    const wellKnown = { username: 'cassandra', password: 'cassandra' }
    const isRefused = () => inSession(database!, wellKnown, async () => false).catch(() => true)
    expect(await holdsWithin(isRefused, { timeoutMs: CACHE_TIMEOUT_MS, clock })).toBe(true)
  })

  test('the service has the rights that it is granted, and no more', async () => {
    await asMigration(
      database!,
      `CREATE KEYSPACE notes
         WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}`,
      'CREATE TABLE notes.notes (id int PRIMARY KEY, body text)',
    )
    await expect(insert(database!, 1)).rejects.toThrow(/no MODIFY permission/)
    const role = `"${database!.service!.username}"`
    for (const right of ['SELECT', 'MODIFY'])
      await asMigration(database!, `GRANT ${right} ON KEYSPACE notes TO ${role}`)
    const isGranted = () =>
      insert(database!, 1).then(
        () => true,
        () => false,
      )
    expect(await holdsWithin(isGranted, { timeoutMs: CACHE_TIMEOUT_MS, clock })).toBe(true)
    expect(await bodyOf(database!, 1)).toBe('kept')
    const createKeyspace = `CREATE KEYSPACE mine
      WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}`
    for (const forbidden of [createKeyspace, 'DROP TABLE notes.notes', 'TRUNCATE notes.notes'])
      await expect(asService(database!, forbidden)).rejects.toThrow(/permission|Guardrail/)
  })

  test.each([
    ['a scan that filters', `SELECT id FROM notes.notes WHERE body = 'a' ALLOW FILTERING`],
    ['three partitions in one read', 'SELECT body FROM notes.notes WHERE id IN (1, 2, 3)'],
    ['an aggregate by group', 'SELECT id, count(*) FROM notes.notes GROUP BY id'],
  ])('guardrails refuse %s to the service', async (_what, cql) => {
    await expect(asService(database!, cql)).rejects.toThrow(/Guardrail|ALLOW FILTERING/)
    await asMigration(database!, cql)
  })

  test('a clean stop leaves no process, lock or note behind', async () => {
    const pid = await nodePid(dataDir)
    await database!.close()
    expect(await isRunning(pid)).toBe(false)
    await expect(access(join(dataDir, 'service.lock'))).rejects.toThrow()
    await expect(nodePid(dataDir)).rejects.toThrow()
  })
})

describe('second start', () => {
  test('it finds what the first has written', async () => {
    service = await startServiceProcess(dataDir)
    expect(await bodyOf(service!.node, 1)).toBe('kept')
    await expect(open()).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test('the node of a killed service is taken over', async () => {
    const pid = await nodePid(dataDir)
    await service!.kill()
    expect(await isRunning(pid)).toBe(true)
    service = await startServiceProcess(dataDir)
    expect(await nodePid(dataDir)).toBe(pid)
    expect(await bodyOf(service!.node, 1)).toBe('kept')
  })

  test('it is found without the note of its number, too', async () => {
    if (process.platform !== 'linux') return
    const [contactPoint] = service!.node.contactPoints
    await service!.kill()
    await rm(join(dataDir, 'cassandra', 'node.json'))
    service = await startServiceProcess(dataDir)
    expect(service!.node.contactPoints).toEqual([contactPoint])
  })
})

describe('third start', () => {
  test('what was acknowledged before node and service were killed is still there', async () => {
    const pid = await nodePid(dataDir)
    await inSession(service!.node, service!.node.service, async (session) => {
      for (let id = 0; id < WRITE_COUNT; id++) await session.execute(INSERT, [id, 'kept'])
      process.kill(pid, 'SIGKILL')
    })
    await service!.kill()
    service = await startServiceProcess(dataDir)
    expect(await nodePid(dataDir)).not.toBe(pid)
    expect(await asService(service.node, 'SELECT id FROM notes.notes')).toHaveLength(WRITE_COUNT)
  })
})

describe('fourth start', () => {
  test('a node that was left running and does not answer is replaced', async () => {
    const pid = await nodePid(dataDir)
    await service!.kill()
    process.kill(pid, 'SIGSTOP')
    database = await open()
    expect(await isRunning(pid)).toBe(false)
    expect(await nodePid(dataDir)).not.toBe(pid)
    expect(await bodyOf(database, WRITE_COUNT - 1)).toBe('kept')
  })

  test('a node that is ended by somebody else is told of', async () => {
    expect(database!.ended.aborted).toBe(false)
    process.kill(await nodePid(dataDir), 'SIGKILL')
    await expect.poll(() => database!.ended.aborted, { timeout: 10_000 }).toBe(true)
  })
})
