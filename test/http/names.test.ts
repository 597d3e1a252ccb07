import { describe, expect, test } from 'vitest'
import type { ListedEventName, ListedProperty } from '../../src/query/catalogue.ts'
import { openTestService, usersOf, type TestProject } from '../support/service.ts'

const service = await openTestService()
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NOW_MS = Date.now()

async function get<T>(project: TestProject, path: string): Promise<T> {
  const answer = await service.send(`/v1/events/${path}`, { key: project.readKey })
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)])
  return answer.json<T>()
}
const namesOf = async (project: TestProject) =>
  (await get<{ events: ListedEventName[] }>(project, 'names')).events
const propertiesOf = async (project: TestProject, event?: string) => {
  const query = event === undefined ? '' : `?${String(new URLSearchParams({ event }))}`
  return (await get<{ properties: ListedProperty[] }>(project, `properties${query}`)).properties
}

describe('a project with two names', async () => {
  const project = await service.createProject()
  const viewMs = [NOW_MS - 9 * DAY_MS, NOW_MS - 5 * DAY_MS, NOW_MS - 1_000]
  await project.store([
    ...viewMs.map((time, index) => ({
      ...{ event: 'view', userId: index, time },
      properties: { path: `/${index % 2}`, nested: { ok: true }, tags: ['a'], mixed: index },
    })),
    { event: '$form_submit', userId: 'ü', properties: { path: '/0', mixed: 'text', none: null } },
    { event: '$form_submit', userId: 'gone', properties: { path: '/of-one-who-is-gone' } },
  ])
  await project.erase('gone')

  test('tells both, the first sight exactly and the last within an hour', async () => {
    const names = await namesOf(project)
    expect(names.map(({ event }) => event)).toEqual(['$form_submit', 'view'])
    const { firstSeen, lastSeen } = names[1]!
    expect(Date.parse(firstSeen)).toBe(viewMs[0])
    const lateMs = viewMs[2]! - Date.parse(lastSeen)
    expect(lateMs).toBeGreaterThanOrEqual(0)
    expect(lateMs).toBeLessThanOrEqual(HOUR_MS)
  })

  test('moves the sights when earlier and later events come', async () => {
    await project.store([{ event: 'view', userId: 1, time: NOW_MS - 20 * DAY_MS }])
    await project.store([{ event: 'view', userId: 1, time: NOW_MS + 5 * HOUR_MS }])
    const view = (await namesOf(project)).find(({ event }) => event === 'view')!
    expect(Date.parse(view.firstSeen)).toBe(NOW_MS - 20 * DAY_MS)
    expect(Date.parse(view.lastSeen)).toBe(NOW_MS + 5 * HOUR_MS)
  })

  test('tells the properties of a name with their types and examples', async () => {
    expect(await propertiesOf(project, '$form_submit')).toEqual([
      { property: 'mixed', types: ['string'], values: ['text'] },
      { property: 'path', types: ['string'], values: ['/0'] },
    ])
    expect(await propertiesOf(project, 'view')).toEqual([
      { property: 'mixed', types: ['number'], values: expect.arrayContaining([0, 1, 2]) },
      { property: 'nested.ok', types: ['boolean'], values: [true] },
      { property: 'path', types: ['string'], values: ['/0', '/1'] },
    ])
  })

  test('tells those of all names together', async () => {
    const properties = await propertiesOf(project)
    expect(properties.map(({ property, types }) => [property, types])).toEqual([
      ['mixed', ['number', 'string']],
      ['nested.ok', ['boolean']],
      ['path', ['string']],
    ])
    expect(properties[2]!.values).toEqual(['/0', '/1'])
  })

  test('tells only what a funnel takes', async () => {
    for (const { event } of await namesOf(project))
      for (const { property } of await propertiesOf(project, event)) {
        const where = [{ property, op: 'isSet' }]
        const answer = await project.funnel({ steps: [{ event, where }] })
        expect(usersOf(answer)[0]).toBeGreaterThan(0)
      }
  })

  test('has no properties of an unknown name', async () => {
    expect(await propertiesOf(project, 'unknown')).toEqual([])
  })

  test('tells nothing of itself to another project', async () => {
    const other = await service.createProject()
    expect([await namesOf(other), await propertiesOf(other, 'view')]).toEqual([[], []])
    expect(await propertiesOf(other)).toEqual([])
  })
})

test('a property of more than 50 values has no examples, one of 50 has all', async () => {
  const project = await service.createProject()
  await project.store(
    Array.from({ length: 60 }, (_, index) => ({
      ...{ event: 'e', userId: index % 4, properties: { id: index, kind: index % 50 } },
    })),
  )
  const [id, kind] = await propertiesOf(project, 'e')
  expect(id).toEqual({ property: 'id', types: ['number'] })
  expect(kind!.values!.toSorted((a, b) => Number(a) - Number(b))).toEqual(
    Array.from({ length: 50 }, (_, index) => index),
  )
})

test('a property that no question can name is not told', async () => {
  const project = await service.createProject()
  const properties = { '': 1, a: { '': 2, b: 3 }, '\ud800': 4, ['x'.repeat(257)]: 5, 'a.b': 6 }
  await project.store([{ event: 'e', userId: 1, properties }])
  const told = (await propertiesOf(project, 'e')).map(({ property }) => property)
  expect(told).toEqual(['a.', 'a.b'])
  for (const property of told) {
    const answer = await project.ask({
      steps: [{ event: 'e', where: [{ property, op: 'isSet' }] }],
    })
    expect(answer.status).toBe(200)
  }
})

test('a name is not told once its last event is beyond the retention', async () => {
  const project = await service.createProject({ retentionDays: 30 })
  await project.store([
    { event: 'old', userId: 1, time: NOW_MS - 9 * DAY_MS, properties: { p: 1 } },
    { event: 'new', userId: 1 },
  ])
  const changed = { method: 'PATCH', body: { retentionDays: 5 } }
  expect((await service.admin(`/v1/projects/${project.id}`, changed)).status).toBe(200)
  await expect
    .poll(async () => (await namesOf(project)).map(({ event }) => event), { timeout: 10_000 })
    .toEqual(['new'])
  expect(await propertiesOf(project, 'old')).toEqual([])
})

describe('what is asked wrongly is refused', async () => {
  const project = await service.createProject()
  const paths = ['/v1/events/names', '/v1/events/properties']

  test('by other keys', async () => {
    for (const path of paths) {
      expect((await service.send(path, { key: project.writeKey })).status).toBe(403)
      expect((await service.send(path)).status).toBe(401)
      expect((await service.send(path, { key: 'tf_r_x' })).status).toBe(401)
    }
  })

  test.each(['event=', `event=${'x'.repeat(201)}`])('with %s', async (query) => {
    const path = `/v1/events/properties?${query}`
    const answer = await service.send(path, { key: project.readKey })
    expect([answer.status, answer.json()['code']]).toEqual([400, 'INVALID_QUERY'])
  })
})
