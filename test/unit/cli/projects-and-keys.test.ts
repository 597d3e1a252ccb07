import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { registerKey } from '../../../src/cli/key.ts'
import { loadKeyRing, saveKeyRing } from '../../../src/cli/key-ring.ts'
import { registerProject } from '../../../src/cli/project.ts'
import type { RegisterCommand } from '../../../src/cli/run-commands.ts'
import { runCommand } from '../../support/command-line.ts'
import { temporaryFolder } from '../../support/data-dir.ts'
import { openFakeService, problem, type Asked } from '../../support/fake-service.ts'

const ADMIN_KEY = 'tf_a_the_admin_key'
const MADE = { timeZone: 'UTC', retentionDays: 400, createdAt: '2026-11-01T00:00:00.000Z' }
const SHOP = { id: 'p1', name: 'shop', ...MADE }
const RING = { firstProject: 'p1', projects: { p1: { name: 'shop', readKey: 'r1' } } }
const KEY = {
  keyId: 'k1',
  kind: 'read',
  rights: ['erase'],
  alsoKnownAs: [],
  createdAt: MADE.createdAt,
}

const folder = await temporaryFolder()
afterAll(folder.remove)
const service = await openFakeService()
let dataDir = ''
let count = 0
beforeEach(async () => {
  service.reset(answer)
  dataDir = join(folder.path, String(++count))
  await mkdir(dataDir)
  await saveKeyRing(dataDir, RING)
})

function answer({ method, path, body }: Asked): readonly [number, unknown] {
  if (method === 'DELETE') return [204, '']
  const sent = body === '' ? {} : (JSON.parse(body) as object)
  if (path.endsWith('/keys'))
    return method === 'POST' ? [201, { ...KEY, key: 'tf_new', ...sent }] : [200, { keys: [KEY] }]
  if (method === 'POST') return [201, { ...SHOP, ...sent, id: 'p9', writeKey: 'w9', readKey: 'r9' }]
  return [200, path === '/v1/projects' ? { projects: [SHOP] } : { ...SHOP, ...sent }]
}

const run = (register: RegisterCommand, words: readonly string[], environment = { ADMIN_KEY }) =>
  runCommand(register, [...words, '--url', service.url], { DATA_DIR: dataDir, ...environment })
const project = (...words: string[]) => run(registerProject, ['project', ...words])
const key = (...words: string[]) => run(registerKey, ['key', ...words])
const asked = () =>
  service.asked.map(({ method, path, body }) => `${method} ${path} ${body}`.trimEnd())

describe('projects', () => {
  test('are listed', async () => {
    const { code, out } = await project('list')
    expect(code).toBe(0)
    expect(out).toMatch(/^id +name +time zone +days kept +made\np1 +shop +UTC +400 +2026-11-01T/)
    expect(service.asked[0]!.headers.authorization).toBe(`Bearer ${ADMIN_KEY}`)
    expect(JSON.parse((await project('list', '--json')).out)).toEqual({ projects: [SHOP] })
  })

  test('are made with their settings; the keys are shown, and kept only with --keep', async () => {
    const settings = ['--time-zone', 'Asia/Tokyo', '--retention-days', '30', '--week-start', '7']
    const { out } = await project('create', 'blog', ...settings)
    expect(out).toBe('project    p9\nwrite key  w9\nread key   r9\n')
    const sent = { name: 'blog', timeZone: 'Asia/Tokyo', retentionDays: 30, weekStart: 7 }
    expect(asked()).toEqual([`POST /v1/projects ${JSON.stringify(sent)}`])
    expect(await loadKeyRing(dataDir)).toEqual(RING)
    await project('create', 'blog', '--keep')
    const kept = { name: 'blog', writeKey: 'w9', readKey: 'r9' }
    expect(await loadKeyRing(dataDir)).toEqual({
      ...RING,
      projects: { ...RING.projects, p9: kept },
    })
  })

  test('are changed by id or kept name; a name that is kept changes too', async () => {
    await project('update', 'shop', '--name', 'store', '--retention-days', '90')
    await project('update', 'p7', '--name', 'other')
    expect(asked()).toEqual([
      'PATCH /v1/projects/p1 {"name":"store","retentionDays":90}',
      'PATCH /v1/projects/p7 {"name":"other"}',
    ])
    const shop = { ...RING.projects.p1, name: 'store' }
    expect(await loadKeyRing(dataDir)).toEqual({ ...RING, projects: { p1: shop } })
  })

  test('are destroyed with --yes only, and then forgotten', async () => {
    const refused = await project('delete', 'shop')
    expect([refused.code, refused.errors]).toEqual([
      ...[2, 'INVALID_REQUEST: this cannot be undone: --yes destroys project p1 (shop)\n'],
    ])
    expect(asked()).toEqual(['GET /v1/projects/p1'])
    expect(await loadKeyRing(dataDir)).toEqual(RING)
    const { code, out } = await project('delete', 'shop', '--yes')
    expect([code, out]).toEqual([0, 'destroyed project p1 (shop)\n'])
    expect(asked().at(-1)).toBe('DELETE /v1/projects/p1')
    expect(await loadKeyRing(dataDir)).toEqual({ projects: {} })
  })

  test('that the service does not know are told of, and stay kept', async () => {
    service.reset(() => problem(404, 'NOT_FOUND'))
    expect((await project('delete', 'shop', '--yes')).code).toBe(1)
    expect(await loadKeyRing(dataDir)).toEqual(RING)
  })

  test('need the admin key', async () => {
    const none = {} as { ADMIN_KEY: string }
    const { code, errors } = await run(registerProject, ['project', 'list'], none)
    expect([code, errors]).toEqual([2, expect.stringContaining('no admin key is kept here')])
    await run(registerProject, ['project', 'list', '--key', 'given'], none)
    expect(service.asked[0]!.headers.authorization).toBe('Bearer given')
  })
})

describe('keys', () => {
  test('are listed, of the first project by default', async () => {
    const { out } = await key('list')
    expect(out).toMatch(/^id +kind +rights +also known as +made\nk1 +read +erase +2026-11-01T/)
    await key('list', '--project', 'p7')
    expect(asked()).toEqual(['GET /v1/projects/p1/keys', 'GET /v1/projects/p7/keys'])
  })

  test('are made with rights or other names, shown, and kept only with --keep', async () => {
    const { out } = await key('create', '--kind', 'read', '--right', 'erase')
    expect(out).toBe('key id     k1\nread  key  tf_new\n')
    await key('create', '--kind', 'write', '--also-known-as', 'UA-1', '--also-known-as', '7')
    expect(asked()).toEqual([
      'POST /v1/projects/p1/keys {"kind":"read","rights":["erase"]}',
      'POST /v1/projects/p1/keys {"kind":"write","alsoKnownAs":["UA-1","7"]}',
    ])
    expect(await loadKeyRing(dataDir)).toEqual(RING)
    await key('create', '--kind', 'write', '--keep')
    const shop = { ...RING.projects.p1, writeKey: 'tf_new' }
    expect(await loadKeyRing(dataDir)).toEqual({ ...RING, projects: { p1: shop } })
  })

  test('are revoked', async () => {
    const { code, out } = await key('revoke', 'k1')
    expect([code, out]).toEqual([0, 'revoked k1\n'])
    expect(asked()).toEqual(['DELETE /v1/projects/p1/keys/k1'])
    expect((await key('create')).code).toBe(2)
  })
})
