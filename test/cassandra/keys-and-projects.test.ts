import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { openTestKeyspace } from '../support/keyspace.ts'

const { session, stores } = await openTestKeyspace()
const { keys, projects } = stores

function aKey(part: object = {}) {
  return {
    ...{ projectId: 'p', keyId: randomUUID(), kind: 'write' as const, rights: [] },
    ...{ alsoKnownAs: [], createdAtMs: Date.now(), ...part },
  }
}

describe('keys', () => {
  test('a key is found by itself and by the ids that stand for it, with what it grants', async () => {
    const listed = aKey({ kind: 'read', rights: ['erase'], alsoKnownAs: ['UA-1', '7'] })
    expect(await keys.add('secret', listed)).toBe(true)
    const { alsoKnownAs: _, createdAtMs: __, ...grant } = listed
    for (const key of ['secret', 'UA-1', '7']) expect(await keys.find(key)).toEqual(grant)
    for (const key of ['Secret', 'UA-2', '', listed.keyId]) expect(await keys.find(key)).toBeNull()
  })

  test('a key itself is stored nowhere', async () => {
    await keys.add('very secret', aKey({ projectId: 'hidden' }))
    for (const table of ['keys', 'project_keys']) {
      const cql = `SELECT JSON * FROM ${table}`
      const rows = await session.execute({ table, operation: 'test', cql })
      expect(rows.length).toBeGreaterThan(0)
      const text = rows.map((row) => row['[json]'] as string).join()
      expect(text).not.toContain('very secret')
      expect(text).not.toContain(Buffer.from('very secret').toString('hex'))
    }
  })

  test('an id that stands for a key cannot stand for another, and then nothing is added', async () => {
    await keys.add('first', aKey({ projectId: 'claims', alsoKnownAs: ['taken'] }))
    const second = aKey({ projectId: 'claims', alsoKnownAs: ['free', 'taken', 'also free'] })
    expect(await keys.add('second', second)).toBe(false)
    for (const key of ['second', 'free', 'also free']) expect(await keys.find(key)).toBeNull()
    expect(await keys.list('claims')).toHaveLength(1)
    expect((await keys.find('taken'))!.projectId).toBe('claims')
  })

  test('of many that claim an id at once, one has it', async () => {
    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        keys.add(`rival ${index}`, aKey({ projectId: `rival ${index}`, alsoKnownAs: ['prize'] })),
      ),
    )
    expect(claims.filter(Boolean)).toHaveLength(1)
    const winner = `rival ${claims.indexOf(true)}`
    expect((await keys.find('prize'))!.projectId).toBe(winner)
    for (let index = 0; index < 8; index++)
      expect((await keys.list(`rival ${index}`)).length).toBe(claims[index] ? 1 : 0)
  })

  test('a revoked key is found no more, and its ids are free again', async () => {
    const listed = aKey({ projectId: 'revoked', alsoKnownAs: ['again'] })
    await keys.add('revoked key', listed)
    expect(await keys.revoke('other', listed.keyId)).toBe(false)
    expect(await keys.find('again')).not.toBeNull()
    expect(await keys.revoke('revoked', listed.keyId)).toBe(true)
    expect(await keys.revoke('revoked', listed.keyId)).toBe(false)
    for (const key of ['revoked key', 'again']) expect(await keys.find(key)).toBeNull()
    expect(await keys.add('next', aKey({ projectId: 'next', alsoKnownAs: ['again'] }))).toBe(true)
    expect((await keys.find('again'))!.projectId).toBe('next')
  })

  test('keys that are changed over and over are listed without a warning', async () => {
    for (let round = 0; round < 120; round++) {
      const key = aKey({ projectId: 'changing' })
      await keys.add(`key ${round}`, key)
      await keys.revoke('changing', key.keyId)
    }
    expect(await keys.list('changing')).toEqual([])
  })

  test('all keys of a project are listed, oldest first, and revoked together', async () => {
    for (const at of [3, 1, 2])
      await keys.add(`of all ${at}`, aKey({ projectId: 'all', keyId: `${at}`, createdAtMs: at }))
    await keys.add('of another', aKey({ projectId: 'all2' }))
    expect((await keys.list('all')).map(({ keyId }) => keyId)).toEqual(['1', '2', '3'])
    await keys.revokeOfProject('all')
    expect(await keys.list('all')).toEqual([])
    for (const at of [1, 2, 3]) expect(await keys.find(`of all ${at}`)).toBeNull()
    expect(await keys.find('of another')).not.toBeNull()
  })
})

describe('projects', () => {
  const aProject = (projectId: string, part: object = {}) => ({
    ...{ projectId, name: 'n', timeZone: 'Europe/Berlin', retentionDays: 400, weekStart: 7 },
    ...{ createdAtMs: 1_000, ...part },
  })

  test('a project is read as it was last written', async () => {
    await projects.write(aProject('one'))
    await projects.write(aProject('one'))
    expect(await projects.read('one')).toEqual(aProject('one'))
    await projects.write(aProject('one', { name: 'renamed', retentionDays: 1 }))
    expect(await projects.read('one')).toEqual(
      aProject('one', { name: 'renamed', retentionDays: 1 }),
    )
    expect(await projects.read('none')).toBeNull()
  })

  test('a destroyed project is not read and not listed, and does not come back', async () => {
    await projects.write(aProject('destroyed'))
    await projects.destroy('destroyed', 2_000)
    await projects.write(aProject('destroyed', { name: 'a late change' }))
    expect(await projects.read('destroyed')).toBeNull()
    expect((await projects.list()).map(({ projectId }) => projectId)).not.toContain('destroyed')
  })

  test('to destroy what is not there makes no project', async () => {
    await projects.destroy('never', 1)
    expect(await projects.read('never')).toBeNull()
    expect((await projects.list()).map(({ projectId }) => projectId)).not.toContain('never')
  })

  test('more than a page of them are listed, oldest first', async () => {
    const ids = Array.from({ length: 5_100 }, (_, index) => `p${index}`)
    for (let start = 0; start < ids.length; start += 100)
      await Promise.all(
        ids
          .slice(start, start + 100)
          .map((id, at) => projects.write(aProject(id, { createdAtMs: 10_000 - start - at }))),
      )
    const listed = (await projects.list()).filter(({ projectId }) => projectId.startsWith('p'))
    expect(listed.map(({ projectId }) => projectId)).toEqual(ids.toReversed())
  })
})
