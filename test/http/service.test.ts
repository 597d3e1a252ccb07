import { connect } from 'node:net'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { sendRaw } from '../support/http-client.ts'
import { allMigrations, asMigrationRole } from '../support/keyspace.ts'
import { ADMIN_KEY, openTestService } from '../support/service.ts'

const service = await openTestService()

describe('how it is', () => {
  test('alive', async () => {
    const answer = await service.send('/healthz')
    expect([answer.status, answer.json()]).toEqual([200, { status: 'alive' }])
  })

  test('ready, and with reasons not so while a migration is missing', async () => {
    const answer = await service.send('/readyz')
    expect([answer.status, answer.json()]).toEqual([200, { status: 'ready' }])
    const { keyspace } = service.testKeyspace
    const { name, version } = allMigrations.at(-1)!
    const row = `WHERE scope = 'keyspace' AND version = ${version}`
    await asMigrationRole(keyspace, `DELETE FROM schema_migrations ${row}`)
    const unready = await service.send('/readyz')
    expect([unready.status, unready.json()]).toEqual([
      503,
      { status: 'not ready', reasons: [`migration ${name} is not applied`] },
    ])
    expect(unready.headers['retry-after']).toBe('1')
  })

  test('in figures for Prometheus, by route as declared and never by what was sent', async () => {
    const project = await service.createProject()
    await project.store([{ event: 'secret_name', userId: 'secret_user' }])
    await project.userEvents('secret_user')
    await service.send('/secret/path')
    const { status, headers, text } = await service.send('/metrics')
    expect([status, headers['content-type']]).toEqual([200, expect.stringContaining('text/plain')])
    for (const sample of [
      'http_request_duration_seconds_count{route="/v1/events",method="POST",status="200"} 1',
      'http_request_duration_seconds_count{route="/v1/users/:userId/events",method="GET",status="200"} 1',
      'ingest_events_total{outcome="accepted"} 1',
      'ingest_pending_events 0',
      'store_warnings_total 0',
      'http_requests_in_flight 1',
    ])
      expect(text).toContain(`\n${sample}\n`)
    expect(text).toMatch(/\nstore_connections [1-9]/)
    expect(text).not.toContain('secret')
  })
})

describe('a problem', () => {
  test('has all fields of RFC 9457, a code and the id of its request', async () => {
    const answer = await service.send('/v1/nothing')
    expect(answer.headers['content-type']).toBe('application/problem+json')
    expect(answer.json()).toEqual({
      ...{ type: 'about:blank', title: 'There is no such thing', status: 404 },
      ...{ detail: 'no such path', code: 'NOT_FOUND', requestId: answer.headers['x-request-id'] },
    })
  })

  test.each([
    '/',
    '/v1',
    '/v1/',
    '/v2/events',
    '/v1/events/',
    '/v1/users/a/b',
    '/favicon.ico',
    '//',
  ])('%s is no path', async (path) => {
    expect((await service.admin(path)).status).toBe(404)
  })

  test.each([
    ['GET', '/v1/events', 'POST'],
    ['PUT', '/v1/events', 'POST'],
    ['GET', '/v1/funnels', 'POST'],
    ['POST', '/v1/users/a/events', 'GET'],
    ['PUT', '/v1/projects', 'GET, POST'],
    ['POST', '/v1/projects/x', 'GET, PATCH, DELETE'],
    ['GET', '/v1/projects/x/keys/y', 'DELETE'],
    ['POST', '/healthz', 'GET'],
  ])('%s %s is 405, and says what is allowed', async (method, path, allowed) => {
    const answer = await service.admin(path, { method })
    expect([answer.status, answer.json()['code']]).toEqual([405, 'METHOD_NOT_ALLOWED'])
    expect(answer.headers['allow']!.split(', ')).toEqual(
      expect.arrayContaining(allowed.split(', ')),
    )
  })

  test('HEAD is answered as GET is, without a body', async () => {
    const answer = await service.send('/healthz', { method: 'HEAD' })
    expect([answer.status, answer.text]).toEqual([200, ''])
  })

  test.each(['%', '%zz', '%ff', '%00', 'a%2Fb', '%C0%AF'])(
    'the user %s in a path is answered, or refused',
    async (userId) => {
      const project = await service.createProject()
      const path = `/v1/users/${userId}/events`
      const answer = await service.send(path, { key: project.readKey })
      expect([200, 400]).toContain(answer.status)
    },
  )
})

describe('a request id', () => {
  test('is made for each request', async () => {
    const ids = await Promise.all(
      [1, 2].map(async () => (await service.send('/healthz')).headers['x-request-id']),
    )
    expect(new Set(ids).size).toBe(2)
    expect(ids.every((id) => typeof id === 'string' && id.length > 10)).toBe(true)
  })

  test('is taken from the caller where it is a sane one', async () => {
    const ask = async (id: string) => {
      const answer = await service.send('/v1/nothing', { headers: { 'x-request-id': id } })
      expect(answer.json()['requestId']).toBe(answer.headers['x-request-id'])
      return answer.headers['x-request-id']
    }
    expect(await ask('abc-123')).toBe('abc-123')
    expect(await ask('<script>')).not.toBe('<script>')
    expect(await ask('i'.repeat(129))).not.toBe('i'.repeat(129))
  })
})

describe('browsers of any origin', () => {
  const origin = 'https://shop.example'

  test('may ask before they send events, whatever headers they name', async () => {
    const answer = await service.send('/v1/events', {
      method: 'OPTIONS',
      headers: {
        ...{ origin, 'access-control-request-method': 'POST' },
        'access-control-request-headers': 'authorization,content-type,content-encoding',
      },
    })
    expect(answer.status).toBe(204)
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': expect.stringContaining('POST') as string,
      'access-control-allow-headers': expect.stringContaining('authorization') as string,
    })
  })

  test('may read what became of their events, refusals included', async () => {
    const project = await service.createProject()
    const event = { event: 'e', userId: 'a' }
    for (const [key, status] of [
      [project.writeKey, 200],
      [project.readKey, 403],
      ['none', 401],
    ] as const) {
      const answer = await service.send('/v1/events', { key, body: event, headers: { origin } })
      expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([
        status,
        origin,
      ])
    }
  })

  test('may not manage projects', async () => {
    const answer = await service.admin('/v1/projects', { headers: { origin } })
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
  })
})

describe('what is not quite HTTP', () => {
  test.each([
    ['rubbish', 'rubbish\r\n\r\n', 400],
    [
      'headers without end',
      `GET /healthz HTTP/1.1\r\nhost: x\r\na: ${'b'.repeat(20_000)}\r\n\r\n`,
      431,
    ],
    [
      'two lengths',
      'POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
      400,
    ],
    [
      'a length that is none',
      'POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-length: x\r\n\r\n',
      400,
    ],
    [
      'a length and chunks',
      'POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['an odd host', 'GET /healthz HTTP/1.1\r\nhost: a b{}\r\nconnection: close\r\n\r\n', 400],
    ['no host', 'GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n', 400],
  ])('%s is refused, and the next request is answered', async (_, text, status) => {
    expect(await sendRaw(service.url, Buffer.from(text))).toBe(status)
    expect((await service.send('/healthz')).status).toBe(200)
  })

  test('a client that goes away in the middle of its body is no bug', async () => {
    const { hostname, port } = new URL(service.url)
    const { writeKey } = await service.createProject()
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    socket.write(
      `POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\nauthorization: Bearer ${writeKey}\r\n\r\n[`,
    )
    socket.destroy()
    await once(socket, 'close')
    expect((await service.send('/healthz')).status).toBe(200)
    const { text } = await service.send('/metrics')
    expect(text).not.toContain('status="500"')
  })

  test('Expect: 100-continue is answered before the body is sent', async () => {
    const { writeKey } = await service.createProject()
    const body = '{"event":"e","userId":"a"}'
    const head = `POST /v1/events HTTP/1.1\r\nhost: x\r\nconnection: close\r\nexpect: 100-continue\r\ncontent-length: ${body.length}\r\nauthorization: Bearer ${writeKey}\r\n\r\n`
    expect(await sendRaw(service.url, Buffer.from(head + body))).toBe(100)
  })
})

test('the admin key is nowhere in an answer', async () => {
  for (const path of ['/metrics', '/healthz', '/readyz', '/v1/projects', '/v1/nothing'])
    expect((await service.admin(path)).text).not.toContain(ADMIN_KEY)
})
