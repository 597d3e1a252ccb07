import assert from 'node:assert'
import { afterAll, inject } from 'vitest'
import { parseConfig, type Config } from '../../src/config.ts'
import { openService } from '../../src/main.ts'
import type { FunnelAnswer } from '../../src/query/funnel.ts'
import { send, type Answer, type Sent } from './http-client.ts'
import { openTestKeyspace, silentLog, type TestKeyspace } from './keyspace.ts'

export const ADMIN_KEY = 'tf_a_the_admin_key_of_the_tests'

export type TestService = Awaited<ReturnType<typeof openTestService>>
export type TestProject = ReturnType<typeof openTestProject>

export interface ListedEvent {
  readonly id: string
  readonly event: string
  readonly userId: string
  readonly anonymousId?: string
  readonly sessionId?: string
  readonly time: string
  readonly receivedAt: string
  readonly properties: Record<string, unknown>
}

export interface UserEventsAnswer {
  readonly events: ListedEvent[]
  readonly cursor?: string
}

interface MadeProject {
  readonly id: string
  readonly writeKey: string
  readonly readKey: string
}

/**
 * Runs the whole service in this process, on a port of its own and a keyspace of its own, or on the one
 * given: two services on one keyspace are two processes of a deployment. Closed at the end of the file.
 * Any warning of Cassandra fails the test. Call it at the top of a test file.
 */
export async function openTestService(
  limits: Partial<Config> = {},
  given: { readonly testKeyspace?: TestKeyspace; readonly contactPoints?: readonly string[] } = {},
) {
  const testKeyspace = given.testKeyspace ?? (await openTestKeyspace())
  const { keyspace, onWarning } = testKeyspace
  const { localDataCenter, service: credentials } = inject('database')
  const contactPoints = given.contactPoints ?? inject('database').contactPoints
  const config = { ...parseConfig({ PORT: '0', CASSANDRA_KEYSPACE: keyspace }), ...limits }
  const database = { contactPoints, localDataCenter, credentials, onWarning }
  const service = await openService(config, database, ADMIN_KEY, silentLog)
  let closing: Promise<void> | undefined
  const close = () => (closing ??= service.close())
  afterAll(close)
  const { url } = service

  const admin = (path: string, sent: Sent = {}) =>
    send(`${url}${path}`, { key: ADMIN_KEY, ...sent })
  return {
    url,
    testKeyspace,
    close,
    send: (path: string, sent: Sent = {}) => send(`${url}${path}`, sent),
    admin,

    async createProject(settings: Record<string, unknown> = {}): Promise<TestProject> {
      const answer = await admin('/v1/projects', { body: { name: 'a project', ...settings } })
      assert.equal(answer.status, 201, answer.text)
      return openTestProject(url, answer.json<MadeProject>())
    },

    /** The value of a sample of `/metrics`, by its name and labels as written there; 0 if absent. */
    async metric(sample: string): Promise<number> {
      const { text } = await send(`${url}/metrics`)
      const line = text.split('\n').find((one) => one.startsWith(`${sample} `))
      return line === undefined ? 0 : Number(line.slice(sample.length + 1))
    },
  }
}

/** What a project's keys can do at a service. */
export function openTestProject(url: string, { id, writeKey, readKey }: MadeProject) {
  const ask = (query: unknown): Promise<Answer> =>
    send(`${url}/v1/funnels`, { key: readKey, body: query })

  async function userEvents(userId: string, query = ''): Promise<UserEventsAnswer> {
    const path = `/v1/users/${encodeURIComponent(userId)}/events${query}`
    const answer = await send(`${url}${path}`, { key: readKey })
    assert.equal(answer.status, 200, answer.text)
    return answer.json<UserEventsAnswer>()
  }

  return {
    ...{ id, writeKey, readKey, ask, userEvents },

    /** The same project, at another service. */
    at: (service: { readonly url: string }) =>
      openTestProject(service.url, { id, writeKey, readKey }),

    post: (body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
      send(`${url}/v1/events`, { key: writeKey, body, headers }),

    /** Erases a user, with the admin key. */
    async erase(userId: string): Promise<void> {
      const headers = { 'x-project': id }
      const path = `/v1/users/${encodeURIComponent(userId)}`
      const answer = await send(`${url}${path}`, { method: 'DELETE', key: ADMIN_KEY, headers })
      assert.equal(answer.status, 202, answer.text)
    },

    /** Posts events that are all to be accepted. */
    async store(events: readonly unknown[]): Promise<void> {
      for (let start = 0; start < events.length; start += 1_000) {
        const batch = events.slice(start, start + 1_000)
        const answer = await send(`${url}/v1/events`, { key: writeKey, body: batch })
        assert.deepEqual(
          [answer.status, answer.text],
          [200, `{"accepted":${batch.length},"rejected":[]}`],
        )
      }
    },

    /** Asks a funnel that is to be answered; of now, unless it says otherwise. */
    async funnel(query: object): Promise<FunnelAnswer> {
      const answer = await ask({ freshness: 'now', ...query })
      assert.equal(answer.status, 200, answer.text)
      return answer.json<FunnelAnswer>()
    },

    /** All events of a user, newest first, from all pages. */
    async allUserEvents(userId: string, limit = 1_000): Promise<ListedEvent[]> {
      const events: ListedEvent[] = []
      let cursor: string | undefined
      do {
        const next = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`
        const page = await userEvents(userId, `?limit=${limit}${next}`)
        events.push(...page.events)
        cursor = page.cursor
      } while (cursor !== undefined)
      return events
    },
  }
}

/** How many users reached each step. */
export function usersOf(answer: { readonly steps: readonly { readonly users: number }[] }) {
  return answer.steps.map(({ users }) => users)
}
