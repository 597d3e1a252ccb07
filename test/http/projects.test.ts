import { describe, expect, test } from 'vitest'
import { openTestService, type TestProject } from '../support/service.ts'

const service = await openTestService()

interface ShownProject {
  readonly id: string
  readonly name: string
  readonly timeZone: string
  readonly retentionDays: number
  readonly weekStart: number
  readonly createdAt: string
}

const patch = (id: string, body: unknown) =>
  service.admin(`/v1/projects/${id}`, { method: 'PATCH', body })

async function listed(): Promise<ShownProject[]> {
  return (await service.admin('/v1/projects')).json<{ projects: ShownProject[] }>().projects
}

describe('a project', () => {
  test('is made with its keys, and with defaults for what is not said', async () => {
    const answer = await service.admin('/v1/projects', { body: { name: '  Shop  ' } })
    expect(answer.status).toBe(201)
    expect(answer.json()).toEqual({
      id: expect.stringMatching(/^[0-9A-Za-z]{12}$/) as string,
      ...{ name: 'Shop', timeZone: 'UTC', retentionDays: 400, weekStart: 1 },
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      writeKey: expect.stringMatching(/^tf_w_/) as string,
      readKey: expect.stringMatching(/^tf_r_/) as string,
    })
  })

  test('keeps what it was made with', async () => {
    const settings = { name: 'x', timeZone: 'Asia/Kolkata', retentionDays: 4_000, weekStart: 7 }
    const { id } = await service.createProject(settings)
    expect((await service.admin(`/v1/projects/${id}`)).json()).toMatchObject({ id, ...settings })
  })

  test('may have the name of another; the list has both, oldest first, without their keys', async () => {
    const made: TestProject[] = []
    for (let count = 0; count < 3; count++) made.push(await service.createProject({ name: 'twin' }))
    const twins = (await listed()).filter(({ name }) => name === 'twin')
    expect(twins.map(({ id }) => id)).toEqual(made.map(({ id }) => id))
    expect(Object.keys(twins[0]!)).not.toContain('writeKey')
  })

  test('is changed in the parts that are named', async () => {
    const { id } = await service.createProject({ name: 'before', retentionDays: 10 })
    const changed = await patch(id, { name: 'after' })
    expect([changed.status, changed.json()]).toEqual([
      200,
      expect.objectContaining({ id, name: 'after', retentionDays: 10 }),
    ])
    expect((await service.admin(`/v1/projects/${id}`)).json()).toEqual(changed.json())
  })

  test('that is changed is another for its keys at once', async () => {
    const project = await service.createProject({ retentionDays: 30 })
    const old = { event: 'e', userId: 'a', time: Date.now() - 40 * 86_400_000 }
    expect((await project.post(old)).json()).toMatchObject({ accepted: 0 })
    await patch(project.id, { retentionDays: 60 })
    expect((await project.post(old)).json()).toMatchObject({ accepted: 1 })
    expect(await project.allUserEvents('a')).toHaveLength(1)
  })

  test.each([
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: ' ' }, 'name'],
    [{ name: 'n'.repeat(201) }, 'name'],
    [{ name: 7 }, 'name'],
    [{ name: 'n', timeZone: 'Mars/Olympus' }, 'timeZone'],
    [{ name: 'n', retentionDays: 0 }, 'retentionDays'],
    [{ name: 'n', retentionDays: 4_001 }, 'retentionDays'],
    [{ name: 'n', retentionDays: 1.5 }, 'retentionDays'],
    [{ name: 'n', weekStart: 8 }, 'weekStart'],
    [{ name: 'n', colour: 'red' }, ''],
    [[], ''],
    [null, ''],
  ])('%j is refused at %j', async (body, path) => {
    const answer = await service.admin('/v1/projects', { body })
    expect([answer.status, answer.json()['code']]).toEqual([400, 'INVALID_REQUEST'])
    expect(answer.json<{ errors: { path: string }[] }>().errors[0]!.path).toBe(path)
    if (body !== null && 'name' in body && Object.keys(body).length > 1) {
      const { id } = await service.createProject()
      expect((await patch(id, body)).status).toBe(400)
    }
  })

  test('is not changed by nothing', async () => {
    const { id } = await service.createProject()
    expect((await patch(id, {})).status).toBe(400)
  })

  test('that is not there is 404 on all of its routes', async () => {
    for (const id of ['none', '%2F', 'a'.repeat(500), '__proto__']) {
      const path = `/v1/projects/${id}`
      const answers = [
        await service.admin(path),
        await service.admin(path, { method: 'PATCH', body: { name: 'n' } }),
        await service.admin(path, { method: 'DELETE' }),
        await service.admin(`${path}/keys`),
        await service.admin(`${path}/keys`, { body: { kind: 'read' } }),
        await service.admin(`${path}/keys/x`, { method: 'DELETE' }),
      ]
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404])
    }
  })
})

describe('keys', async () => {
  const project = await service.createProject()
  const path = `/v1/projects/${project.id}/keys`
  const list = async () =>
    (await service.admin(path)).json<{ keys: { keyId: string; kind: string }[] }>().keys

  test('come two with a project, and are listed oldest first', async () => {
    const { keyId } = (await service.admin(path, { body: { kind: 'read' } })).json()
    const keys = await list()
    expect(keys).toHaveLength(3)
    expect(keys.map(({ kind }) => kind).sort()).toEqual(['read', 'read', 'write'])
    expect(keys[2]!.keyId).toBe(keyId)
    expect(JSON.stringify(keys)).not.toContain(project.writeKey)
  })

  test('work at once, and no longer once they are revoked; others stay', async () => {
    const { keyId, key } = (await service.admin(path, { body: { kind: 'write' } })).json<
      Record<string, string>
    >()
    const post = (aKey: string) =>
      service.send('/v1/events', { key: aKey, body: { event: 'e', userId: 'a' } })
    expect((await post(key!)).status).toBe(200)
    expect((await service.admin(`${path}/${keyId}`, { method: 'DELETE' })).status).toBe(204)
    expect((await post(key!)).status).toBe(401)
    expect((await post(project.writeKey)).status).toBe(200)
    expect((await service.admin(`${path}/${keyId}`, { method: 'DELETE' })).status).toBe(404)
  })

  test('are revoked for their own project only', async () => {
    const stranger = await service.createProject()
    const [key] = await list()
    const answer = await service.admin(`/v1/projects/${stranger.id}/keys/${key!.keyId}`, {
      ...{ method: 'DELETE' },
    })
    expect(answer.status).toBe(404)
    expect((await list()).map(({ keyId }) => keyId)).toContain(key!.keyId)
  })

  test('that may erase say so', async () => {
    const made = await service.admin(path, { body: { kind: 'read', rights: ['erase'] } })
    expect(made.json()).toMatchObject({ kind: 'read', rights: ['erase'] })
  })

  test.each([
    [{}, 'kind'],
    [{ kind: 'admin' }, 'kind'],
    [{ kind: 'write', rights: ['erase'] }, 'rights'],
    [{ kind: 'read', rights: ['fly'] }, 'rights.0'],
    [{ kind: 'read', alsoKnownAs: ['7'] }, 'alsoKnownAs'],
    [{ kind: 'write', alsoKnownAs: [''] }, 'alsoKnownAs.0'],
    [{ kind: 'write', alsoKnownAs: [7] }, 'alsoKnownAs.0'],
  ])('%j is refused at %s', async (body, at) => {
    const answer = await service.admin(path, { body })
    expect([answer.status, answer.json()['code']]).toEqual([400, 'INVALID_REQUEST'])
    expect(answer.json<{ errors: { path: string }[] }>().errors[0]!.path).toBe(at)
  })

  test('may repeat an id in alsoKnownAs', async () => {
    const body = { kind: 'write', alsoKnownAs: ['UA-2', 'UA-2'] }
    expect((await service.admin(path, { body })).status).toBe(201)
  })
})
