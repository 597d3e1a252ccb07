// Goal: docker-compose.yml does what README.md says of it, from nothing to a funnel, and keeps what is stored.
import assert from 'node:assert'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { freePort } from '../../src/embedded/ports.ts'
import { packageRoot } from '../../src/package-root.ts'
import { send } from '../support/http-client.ts'
import { ADMIN_KEY, openTestProject, usersOf } from '../support/service.ts'

const COMMAND_TIMEOUT_MS = 280_000
const DOWN_TIMEOUT_MS = 120_000

const docker = inject('docker')
const name = `thousandfold-test-${randomBytes(4).toString('hex')}`
const port = await freePort()
const url = `http://127.0.0.1:${port}`

/** Runs `docker compose` on a project of this file's own; returns what it printed. */
async function compose(...words: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(
    docker!,
    ['compose', '--project-name', name, ...words],
    {
      cwd: packageRoot(),
      env: { ...process.env, ADMIN_KEY, PORT: String(port) },
      timeout: COMMAND_TIMEOUT_MS,
    },
  )
  return stdout
}

describe.skipIf(docker === null)('docker compose', () => {
  test.each([
    [[], ['cassandra', 'thousandfold']],
    [['cluster'], ['cassandra', 'cassandra-2', 'cassandra-3', 'keyspace', 'thousandfold']],
    [['loadtest'], ['cassandra', 'k6', 'thousandfold']],
  ])('with the profiles %j runs %j', async (profiles, services) => {
    const chosen = profiles.flatMap((profile) => ['--profile', profile])
    const listed = await compose(...chosen, 'config', '--services')
    expect(listed.trim().split('\n').toSorted()).toEqual(services)
  })

  test('builds and starts everything, and what is stored outlives the service', async () => {
    onTestFinished(
      async () => void (await compose('down', '--volumes', '--rmi', 'local')),
      DOWN_TIMEOUT_MS,
    )
    await compose('up', '--detach', '--wait', '--build')

    const made = await send(`${url}/v1/projects`, { key: ADMIN_KEY, body: { name: 'shop' } })
    assert.equal(made.status, 201, made.text)
    const project = openTestProject(url, made.json())
    await project.store([
      { id: '1', event: 'view', userId: 1 },
      { id: '2', event: 'buy', userId: 1 },
      { id: '3', event: 'view', userId: 2 },
    ])
    const question = { steps: [{ event: 'view' }, { event: 'buy' }] }
    expect(usersOf(await project.funnel(question))).toEqual([2, 1])

    await compose('restart', 'thousandfold')
    await compose('up', '--detach', '--wait')
    expect(usersOf(await project.funnel(question))).toEqual([2, 1])
    const answer = await compose(
      ...['exec', '-T', 'thousandfold', 'thousandfold', 'funnel'],
      ...['product_view > purchase', '--project', 'demo', '--json'],
    )
    const demo = JSON.parse(answer) as { steps: { users: number }[] }
    expect(usersOf(demo)[0]).toBeGreaterThan(0)
  })
})
