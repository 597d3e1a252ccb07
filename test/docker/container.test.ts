import { CassandraContainer, type StartedCassandraContainer } from '@testcontainers/cassandra'
import assert from 'node:assert'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { migrateKeyspace } from '../../src/cli/migrate-keyspace.ts'
import { systemClock as clock } from '../../src/clock.ts'
import { parseConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/embedded/database.ts'
import { openLog } from '../../src/log.ts'
import { openService } from '../../src/main.ts'
import { send } from '../support/http-client.ts'
import { ADMIN_KEY, openTestProject, usersOf } from '../support/service.ts'

const log = openLog('warn')

describe.skipIf(inject('docker') === null)('the service on a Cassandra container', () => {
  test('stores events and answers a funnel', async () => {
    const service = await openServiceOn(await startCassandra())
    const made = await send(`${service.url}/v1/projects`, {
      key: ADMIN_KEY,
      body: { name: 'shop' },
    })
    assert.equal(made.status, 201, made.text)
    const project = openTestProject(service.url, made.json())
    await project.store([
      { id: '1', event: 'view', userId: 1 },
      { id: '2', event: 'buy', userId: 1 },
      { id: '3', event: 'view', userId: 2 },
    ])
    const steps = [{ event: 'view' }, { event: 'buy' }]
    expect(usersOf(await project.funnel({ steps }))).toEqual([2, 1])
    expect(usersOf(await project.funnel({ steps, source: 'events' }))).toEqual([2, 1])
  })
})

async function startCassandra(): Promise<StartedCassandraContainer> {
  const container = await new CassandraContainer('cassandra:5.0')
    .withEnvironment({ MAX_HEAP_SIZE: '512M' })
    // The module's own check starts Python four times a second, and gives it a second: too little here.
    .withHealthCheck({
      test: ['CMD', 'bash', '-c', 'exec 3<>/dev/tcp/127.0.0.1/9042'],
      interval: 1_000,
      timeout: 5_000,
      retries: 180,
    })
    .start()
  onTestFinished(async () => void (await container.stop()))
  return container
}

async function openServiceOn(container: StartedCassandraContainer) {
  const dataCentre = container.getDatacenter()
  const config = parseConfig({
    PORT: '0',
    CASSANDRA_CONTACT_POINTS: container.getContactPoint(),
    CASSANDRA_LOCAL_DC: dataCentre,
    CASSANDRA_REPLICATION: `${dataCentre}:1`,
  })
  const database = await openDatabase({ config, log, clock })
  await migrateKeyspace(config, database, log)
  const { contactPoints, localDataCenter, service: credentials } = database
  const address = { contactPoints, localDataCenter, credentials }
  const service = await openService(config, address, ADMIN_KEY, log)
  onTestFinished(() => service.close())
  return service
}
