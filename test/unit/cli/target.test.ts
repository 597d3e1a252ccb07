import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { loadKeyRing, saveKeyRing } from '../../../src/cli/key-ring.ts'
import { writeServiceFile } from '../../../src/cli/service-file.ts'
import { resolveTarget } from '../../../src/cli/target.ts'
import { parseConfig } from '../../../src/config.ts'
import { temporaryFolder } from '../../support/data-dir.ts'
import { openFakeService, problem } from '../../support/fake-service.ts'

const ADMIN_KEY = 'tf_a_the_admin_key'
const RING = {
  firstProject: 'p1',
  projects: {
    p1: { name: 'shop', writeKey: 'w1', readKey: 'r1' },
    p2: { name: 'blog', writeKey: 'w2' },
    p3: { name: 'twin' },
    p4: { name: 'twin' },
  },
}

const folder = await temporaryFolder()
afterAll(folder.remove)
const service = await openFakeService()
let dataDir = ''
let count = 0
beforeEach(async () => {
  service.reset()
  dataDir = join(folder.path, String(++count))
  await mkdir(dataDir)
})

const configOf = (more: Record<string, string> = {}) => parseConfig({ DATA_DIR: dataDir, ...more })
const resolve = (
  options: Parameters<typeof resolveTarget>[1],
  kind: Parameters<typeof resolveTarget>[2],
  more: Record<string, string> = {},
) => resolveTarget(configOf(more), { url: service.url, ...options }, kind)

describe('the key ring', () => {
  test('is kept for its owner only, whole, with nothing left beside it', async () => {
    expect(await loadKeyRing(dataDir)).toEqual({ projects: {} })
    await saveKeyRing(dataDir, RING)
    expect(await loadKeyRing(dataDir)).toEqual(RING)
    expect((await stat(join(dataDir, 'keys.json'))).mode & 0o777).toBe(0o600)
    expect(await readdir(dataDir)).toEqual(['keys.json'])
  })
})

describe('the key of a command', () => {
  test('is the one that is given', async () => {
    await saveKeyRing(dataDir, RING)
    expect(await resolve({ key: 'mine', project: 'p1' }, 'read')).toMatchObject({
      ...{ key: 'mine', projectId: null, headers: { authorization: 'Bearer mine' } },
    })
  })

  test('is else the kept one of the project, by id or name, or of the first project', async () => {
    await saveKeyRing(dataDir, RING)
    expect(await resolve({}, 'write')).toMatchObject({ key: 'w1', projectId: 'p1' })
    expect(await resolve({}, 'read')).toMatchObject({ key: 'r1' })
    expect(await resolve({ project: 'blog' }, 'write')).toMatchObject({
      key: 'w2',
      projectId: 'p2',
    })
    expect(await resolve({ project: 'p2' }, 'write')).toMatchObject({ key: 'w2' })
  })

  test('is else, for reading, the admin key with the project', async () => {
    await saveKeyRing(dataDir, RING)
    const expected = { authorization: `Bearer ${ADMIN_KEY}`, 'x-project': 'p2' }
    expect((await resolve({ project: 'blog' }, 'read', { ADMIN_KEY })).headers).toEqual(expected)
    await writeFile(join(dataDir, 'admin-key'), `${ADMIN_KEY}\n`)
    expect((await resolve({ project: 'blog' }, 'read')).headers).toEqual(expected)
    expect(service.asked).toEqual([])
  })

  test('is, to erase, the admin key with the project, whatever key is kept', async () => {
    await saveKeyRing(dataDir, RING)
    const expected = { authorization: `Bearer ${ADMIN_KEY}`, 'x-project': 'p1' }
    expect((await resolve({}, 'erase', { ADMIN_KEY })).headers).toEqual(expected)
    expect(await resolve({ key: 'mine' }, 'erase')).toMatchObject({ key: 'mine' })
    await expect(resolve({}, 'erase')).rejects.toThrow('no erase key of project p1')
  })

  test('is else, for writing, a new one by the admin key, made once and kept', async () => {
    await saveKeyRing(dataDir, RING)
    service.reset(({ path }) =>
      path.endsWith('/keys') ? [201, { keyId: 'k', key: 'w9' }] : [200, { id: 'p9', name: 'new' }],
    )
    expect(await resolve({ project: 'p9' }, 'write', { ADMIN_KEY })).toMatchObject({ key: 'w9' })
    expect(service.asked.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['GET', '/v1/projects/p9', ''],
      ['POST', '/v1/projects/p9/keys', '{"kind":"write"}'],
    ])
    service.reset()
    expect(await resolve({ project: 'new' }, 'write')).toMatchObject({ key: 'w9', projectId: 'p9' })
    expect(service.asked).toEqual([])
    expect(await loadKeyRing(dataDir)).toEqual({
      ...RING,
      projects: { ...RING.projects, p9: { name: 'new', writeKey: 'w9' } },
    })
  })

  test.each([
    [{}, 'which project?'],
    [{ project: 'p7' }, 'no read key of project p7'],
    [{ project: 'toString' }, 'no read key of project toString'],
    [{ key: 'two\nlines' }, '--key: no key has such signs'],
    [{ key: 'k', url: 'nowhere' }, '--url: not a URL'],
  ])('for %j is asked for', async (options, message) => {
    await expect(resolve(options, 'read')).rejects.toMatchObject({
      ...{ code: 'INVALID_REQUEST', message: expect.stringContaining(message) as string },
    })
  })

  test('is not guessed for a name that two projects have', async () => {
    await saveKeyRing(dataDir, RING)
    await expect(resolve({ project: 'twin' }, 'read')).rejects.toThrow('the name of p3, p4')
  })

  test('is not made where the service does not know the project', async () => {
    service.reset(() => problem(404, 'NOT_FOUND'))
    await expect(resolve({ project: 'p9' }, 'write', { ADMIN_KEY })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    expect(await loadKeyRing(dataDir)).toEqual({ projects: {} })
  })
})

describe('the service of a command', () => {
  const urlOf = async (url?: string) =>
    (await resolveTarget(configOf({ PORT: '8081' }), { url, key: 'k' }, 'read')).url

  test('is the given one, else the one that runs on DATA_DIR, else the configured one', async () => {
    expect(await urlOf()).toBe('http://127.0.0.1:8081')
    const file = { contactPoints: [], localDataCenter: 'datacenter1' }
    await writeServiceFile(dataDir, { url: 'http://127.0.0.1:9', ...file })
    expect(await urlOf()).toBe('http://127.0.0.1:9')
    expect(await urlOf('https://example.com/')).toBe('https://example.com')
  })

  test('is not one that has ended, even where another process has its number now', async () => {
    const file = { contactPoints: [], localDataCenter: 'datacenter1' }
    await writeServiceFile(dataDir, { url: 'http://127.0.0.1:9', ...file })
    const path = join(dataDir, 'service.json')
    const written = JSON.parse(await readFile(path, 'utf8')) as { pid: number; startTicks: number }
    // Beyond the largest process id of any Linux; and this process's number, started at another time.
    const ended = [{ pid: 2 ** 22 + 1 }, { startTicks: written.startTicks - 1 }]
    for (const change of ended) {
      await writeFile(path, JSON.stringify({ ...written, ...change }))
      expect(await urlOf()).toBe('http://127.0.0.1:8081')
    }
  })
})
