import { describe, expect, test, vi } from 'vitest'
import { ADMIN_KEY, openTestService, usersOf } from '../support/service.ts'

const service = await openTestService()
const other = await openTestService({}, { testKeyspace: service.testKeyspace })

const EVENT = { event: 'e', userId: 'a' }
const FUNNEL = { steps: [{ event: 'e' }] }

const WRITE_ROUTES = [['POST', '/v1/events', EVENT]] as const
const READ_ROUTES = [
  ['POST', '/v1/funnels', FUNNEL],
  ['GET', '/v1/users/a/events', undefined],
  ['POST', '/v1/events/search', {}],
  ['GET', '/v1/events/names', undefined],
  ['GET', '/v1/events/properties', undefined],
] as const
const ERASE_ROUTES = [['DELETE', '/v1/users/gone', undefined]] as const
const ADMIN_ROUTES = [
  ['GET', '/v1/projects', undefined],
  ['POST', '/v1/projects', { name: 'p' }],
  ['GET', '/v1/projects/ID', undefined],
  ['PATCH', '/v1/projects/ID', { name: 'q' }],
  ['GET', '/v1/projects/ID/keys', undefined],
  ['POST', '/v1/projects/ID/keys', { kind: 'read' }],
  ['DELETE', '/v1/projects/ID/keys/none', undefined],
  ['DELETE', '/v1/projects/ID', undefined],
] as const
const ALL_ROUTES = [...WRITE_ROUTES, ...READ_ROUTES, ...ERASE_ROUTES, ...ADMIN_ROUTES]

type Route = (typeof ALL_ROUTES)[number]

async function statusOf(
  [method, path, body]: Route,
  projectId: string,
  headers: Record<string, string>,
): Promise<number> {
  const answer = await service.send(path.replace('ID', projectId), { method, body, headers })
  if (answer.status === 401) expect(answer.headers['www-authenticate']).toBe('Bearer')
  return answer.status
}

describe('who may do what', async () => {
  const project = await service.createProject()
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
  const revoked = await service.createProject()
  const { keys } = (await service.admin(`/v1/projects/${revoked.id}/keys`)).json<{
    keys: { keyId: string }[]
  }>()
  for (const { keyId } of keys) {
    const path = `/v1/projects/${revoked.id}/keys/${keyId}`
    expect((await service.admin(path, { method: 'DELETE' })).status).toBe(204)
  }

  const nobody: [string, Record<string, string>][] = [
    ['no key', {}],
    ['an empty key', { authorization: 'Bearer ' }],
    ['an unknown write key', bearer('tf_w_00000000000000000000000000000000')],
    ['an unknown read key', bearer('tf_r_00000000000000000000000000000000')],
    ['rubbish', { authorization: 'Basic YTpi' }],
    ['a key of 10,000 characters', bearer('k'.repeat(10_000))],
    ['the admin key in capitals', bearer(ADMIN_KEY.toUpperCase())],
    ['the id of a project', bearer(project.id)],
    ['a revoked write key', bearer(revoked.writeKey)],
    ['a revoked read key', bearer(revoked.readKey)],
    ['a revoked key in X-Write-Key', { 'x-write-key': revoked.writeKey }],
  ]
  test.each(nobody)('%s is 401 on every route', async (_, headers) => {
    for (const route of ALL_ROUTES)
      expect([route[1], await statusOf(route, project.id, headers)]).toEqual([route[1], 401])
  })

  test('a write key stores events, and is 403 everywhere else', async () => {
    const headers = bearer(project.writeKey)
    for (const route of WRITE_ROUTES) expect(await statusOf(route, project.id, headers)).toBe(200)
    for (const route of [...READ_ROUTES, ...ERASE_ROUTES, ...ADMIN_ROUTES])
      expect([route[1], await statusOf(route, project.id, headers)]).toEqual([route[1], 403])
  })

  test('a read key asks, and is 403 everywhere else', async () => {
    const headers = bearer(project.readKey)
    for (const route of READ_ROUTES) expect(await statusOf(route, project.id, headers)).toBe(200)
    for (const route of [...WRITE_ROUTES, ...ERASE_ROUTES, ...ADMIN_ROUTES])
      expect([route[1], await statusOf(route, project.id, headers)]).toEqual([route[1], 403])
  })

  test('a read key with the right to erase erases as well', async () => {
    const path = `/v1/projects/${project.id}/keys`
    const made = await service.admin(path, { body: { kind: 'read', rights: ['erase'] } })
    const headers = bearer(made.json<{ key: string }>().key)
    for (const route of READ_ROUTES) expect(await statusOf(route, project.id, headers)).toBe(200)
    for (const route of ERASE_ROUTES) expect(await statusOf(route, project.id, headers)).toBe(202)
    for (const route of [...WRITE_ROUTES, ...ADMIN_ROUTES])
      expect([route[1], await statusOf(route, project.id, headers)]).toEqual([route[1], 403])
  })

  test('the admin key stores no events', async () => {
    const headers = { ...bearer(ADMIN_KEY), 'x-project': project.id }
    for (const route of WRITE_ROUTES) expect(await statusOf(route, project.id, headers)).toBe(403)
  })

  test('the admin key asks and erases for the project that X-Project names', async () => {
    for (const route of [...READ_ROUTES, ...ERASE_ROUTES]) {
      const ask = (headers: Record<string, string>) =>
        statusOf(route, project.id, { ...bearer(ADMIN_KEY), ...headers })
      expect(await ask({ 'x-project': project.id })).toBe(route[0] === 'DELETE' ? 202 : 200)
      expect(await ask({ 'x-project': 'none' })).toBe(404)
      expect(await ask({})).toBe(400)
    }
  })

  test('X-Project changes nothing for other keys', async () => {
    const stranger = await service.createProject()
    await stranger.store([EVENT])
    const headers = { ...bearer(project.readKey), 'x-project': stranger.id }
    const answer = await service.send('/v1/users/a/events', { headers })
    const events = answer.json<{ events: { event: string }[] }>().events
    expect(events).toHaveLength((await project.allUserEvents('a')).length)
  })
})

describe('where a key is looked for', async () => {
  const project = await service.createProject()
  const { writeKey, readKey } = project

  test('a write key may come as X-Write-Key or as ?key=', async () => {
    const headers = { 'x-write-key': writeKey }
    expect((await service.send('/v1/events', { body: EVENT, headers })).status).toBe(200)
    expect((await service.send(`/v1/events?key=${writeKey}`, { body: EVENT })).status).toBe(200)
    expect((await service.send('/v1/events', { key: writeKey, body: EVENT })).status).toBe(200)
  })

  test('Bearer may be written in any case', async () => {
    const headers = { authorization: `bearer ${writeKey}` }
    expect((await service.send('/v1/events', { body: EVENT, headers })).status).toBe(200)
  })

  test('a read or admin key in the query is no key', async () => {
    for (const key of [readKey, ADMIN_KEY]) {
      expect((await service.send(`/v1/funnels?key=${key}`, { body: FUNNEL })).status).toBe(401)
      expect((await service.send(`/v1/users/a/events?key=${key}`)).status).toBe(401)
      expect((await service.send(`/v1/projects?key=${key}`)).status).toBe(401)
    }
  })
})

describe('projects are apart', () => {
  test("one project's keys never see another's events, users or names", async () => {
    const [one, two] = [await service.createProject(), await service.createProject()]
    await one.store([{ event: 'secret', userId: 'a', id: 'same' }])
    await two.store([{ event: 'public', userId: 'a', id: 'same' }])
    const seen = async (project: typeof one) =>
      (await project.allUserEvents('a')).map(({ event }) => event)
    expect([await seen(one), await seen(two)]).toEqual([['secret'], ['public']])
    expect(usersOf(await two.funnel({ steps: [{ event: 'secret' }] }))).toEqual([0])
    expect(usersOf(await two.funnel({ steps: [{ anyEvent: true }, { anyEvent: true }] }))).toEqual([
      1, 0,
    ])
  })

  test('a destroyed project is void at once, for all of its keys and for the administrator', async () => {
    const project = await service.createProject()
    await project.store([EVENT])
    await project.funnel(FUNNEL)
    const gone = await service.admin(`/v1/projects/${project.id}`, { method: 'DELETE' })
    expect(gone.status).toBe(204)
    expect((await project.post(EVENT)).status).toBe(401)
    expect((await project.ask(FUNNEL)).status).toBe(401)
    const headers = { 'x-project': project.id }
    expect((await service.admin('/v1/funnels', { body: FUNNEL, headers })).status).toBe(404)
    expect((await service.admin(`/v1/projects/${project.id}`)).status).toBe(404)
    expect((await service.admin('/v1/projects')).text).not.toContain(project.id)
    const twice = await service.admin(`/v1/projects/${project.id}`, { method: 'DELETE' })
    expect(twice.status).toBe(404)
  })

  test('what one process revokes, another takes for a few seconds at most', async () => {
    const project = await service.createProject()
    const there = project.at(other)
    await there.store([EVENT])
    await service.admin(`/v1/projects/${project.id}`, { method: 'DELETE' })
    await vi.waitFor(async () => expect((await there.post(EVENT)).status).toBe(401), 8_000)
  })
})

describe('ids that stand for a write key', async () => {
  const project = await service.createProject()
  const path = `/v1/projects/${project.id}/keys`
  const body = { kind: 'write', alsoKnownAs: ['UA-1', '7'] }
  const { keyId, key } = (await service.admin(path, { body })).json<Record<string, string>>()

  test('store events for its project', async () => {
    for (const id of ['UA-1', '7', key!])
      expect((await service.send('/v1/events', { key: id, body: EVENT })).status).toBe(200)
    expect(await project.allUserEvents('a')).toHaveLength(3)
  })

  test('stand for one key only: claiming one again is 409, and adds no key', async () => {
    const stranger = await service.createProject()
    const strangerPath = `/v1/projects/${stranger.id}/keys`
    const taken = { kind: 'write', alsoKnownAs: ['fresh', '7'] }
    expect((await service.admin(strangerPath, { body: taken })).status).toBe(409)
    expect((await service.send('/v1/events', { key: 'fresh', body: EVENT })).status).toBe(401)
    expect((await service.admin(strangerPath)).json<{ keys: object[] }>().keys).toHaveLength(2)
  })

  test('are listed, without the key itself', async () => {
    const { text } = await service.admin(path)
    expect(text).not.toContain(key)
    const { keys } = JSON.parse(text) as { keys: { keyId: string; alsoKnownAs: string[] }[] }
    expect(keys.find((one) => one.keyId === keyId)!.alsoKnownAs.sort()).toEqual(['7', 'UA-1'])
  })

  test('end with it, and can then be claimed anew', async () => {
    expect((await service.admin(`${path}/${keyId}`, { method: 'DELETE' })).status).toBe(204)
    for (const id of ['UA-1', '7', key!])
      expect((await service.send('/v1/events', { key: id, body: EVENT })).status).toBe(401)
    expect((await service.admin(path, { body })).status).toBe(201)
    expect((await service.send('/v1/events', { key: '7', body: EVENT })).status).toBe(200)
  })
})

test('a key fits into paths, queries and Basic auth', async () => {
  const { writeKey, readKey } = await service.createProject()
  expect(writeKey).toMatch(/^tf_w_[0-9A-Za-z]{32}$/)
  expect(readKey).toMatch(/^tf_r_[0-9A-Za-z]{32}$/)
})
