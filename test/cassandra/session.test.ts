import { createServer } from 'node:net'
import { once } from 'node:events'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import type { AddressInfo } from 'node:net'
import { openSession } from '../../src/store/session.ts'
import { connectAs, openTestKeyspace } from '../support/keyspace.ts'
import { openProxy } from '../support/proxy.ts'
import { collect } from '../support/rows.ts'

const { session, stores } = await openTestKeyspace()
const statement = (cql: string) => ({ table: 'things', operation: 'test', cql })

describe('pages', async () => {
  const bucketDays = Array.from({ length: 6_000 }, (_, index) => ({
    ...{ bucket: index % 1_000, day: 20_000 + Math.floor(index / 1_000) },
  }))
  await stores.eventBuckets.add('pages', bucketDays)
  const list = statement(
    "SELECT day, bucket FROM event_buckets WHERE project = 'pages' AND month = ?",
  )
  const month = 656 + 1

  test('of any size are read to the end', async () => {
    for (const pageRowsMax of [5_000, 999, 100])
      expect(await session.all(list, [month], pageRowsMax)).toHaveLength(6_000)
    const pages = await collect(session.pages(list, [month], 5_000))
    expect(pages.flat()).toHaveLength(6_000)
    expect(pages[0]).toHaveLength(120)
  })

  test('that are empty are not taken for the last', async () => {
    // Six whole days of rows are gone, so that pages over what is gone are empty or short.
    await session.execute(
      statement("DELETE FROM event_buckets WHERE project = 'pages' AND month = ? AND day < 20005"),
      [month],
    )
    expect(await session.all(list, [month], 100)).toHaveLength(1_000)
    expect((await collect(session.pages(list, [month], 100))).flat()).toHaveLength(1_000)
  })
})

describe('errors', () => {
  test('name table and operation, and keep their cause', async () => {
    const failing = session.execute(statement('SELECT nothing FROM projects'))
    await expect(failing).rejects.toThrow(/^things test: Undefined column name nothing/)
    await expect(failing).rejects.toHaveProperty('cause')
  })

  test('of a cluster that is not there are STORE_UNAVAILABLE', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    const connect = { ...connectAs('service', () => {}), contactPoints: [`127.0.0.1:${port}`] }
    await expect(openSession(connect)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })

  test('of a wrong password are no outage to wait for, and do not tell it', async () => {
    const credentials = { username: 'nobody', password: 'hunter2' }
    const refused = openSession({ ...connectAs('service', () => {}), credentials })
    await expect(refused).rejects.not.toThrow('hunter2')
  })
})

test('a compare-and-set tells whether it was applied', async () => {
  const set = statement("INSERT INTO projects (project, name) VALUES ('cas', ?) IF NOT EXISTS")
  expect(await session.compareAndSet(set, ['first'])).toBe(true)
  expect(await session.compareAndSet(set, ['second'])).toBe(false)
})

test('it counts its hosts and connections', () => {
  expect(session.hostsUp()).toBe(1)
  expect(session.connections()).toBeGreaterThanOrEqual(1)
})

test('outages leave no connection behind, nor does a session that lived through them', async () => {
  const proxy = await openProxy(inject('database').contactPoints[0]!)
  onTestFinished(proxy.close)
  const contactPoints = [proxy.contactPoint]
  const other = await openSession({ ...connectAs('service', () => {}), contactPoints })
  const connectionsBefore = proxy.connectionCount()
  const isServed = () =>
    other.execute(statement('SELECT release_version FROM system.local')).then(
      () => true,
      () => false,
    )
  for (let outage = 0; outage < 6; outage++) {
    proxy.cut()
    await expect.poll(isServed).toBe(false)
    proxy.mend()
    await expect.poll(isServed, { timeout: 15_000 }).toBe(true)
  }
  await expect.poll(proxy.connectionCount).toBeLessThanOrEqual(connectionsBefore)
  await other.close()
  await expect.poll(proxy.connectionCount, { timeout: 3_000 }).toBe(0)
})
