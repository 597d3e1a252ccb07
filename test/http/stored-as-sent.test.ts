import { expect, test } from 'vitest'
import { send } from '../support/http-client.ts'
import { openTestService, usersOf } from '../support/service.ts'

const service = await openTestService()
const project = await service.createProject()

/** Stores an event with these properties, as JSON text; returns them as they are told, as JSON text. */
async function toldAs(userId: string, properties: string): Promise<string> {
  const body = `{"event":"e","userId":${JSON.stringify(userId)},"properties":${properties}}`
  const posted = await project.post(body)
  expect(posted.text).toBe('{"accepted":1,"rejected":[]}')
  const path = `/v1/users/${encodeURIComponent(userId)}/events`
  const { text } = await send(`${service.url}${path}`, { key: project.readKey })
  return /"properties":(.*)\}\]\}$/s.exec(text)![1]!
}

test.each([
  '12345678901234567890',
  '9007199254740993',
  '-9007199254740993',
  '0.1234567890123456789',
  '0.30000000000000004',
  '1e999',
  '-1E400',
  '1e-999',
  '3.141592653589793238462643383279',
])('the number %s leaves with the value that it came with', async (number) => {
  const properties = `{"n":${number},"list":[1,${number}],"in":{"n":${number}}}`
  expect(await toldAs(`number ${number}`, properties)).toBe(properties)
})

test.each([
  ['NUL', '{"p":"a\\u0000b"}'],
  ['half a pair', '{"p":"\\ud83d"}'],
  ['the other half', '{"p":"x\\udc00y"}'],
  ['a pair', '{"p":"😀"}'],
  ['a key with half a pair', '{"\\ud83d":1}'],
  ['an empty key', '{"":1}'],
  ['quotes and backslashes', '{"a\\"b":"c\\\\d\\n"}'],
  ['line separators', '{"p":"\u2028\u2029"}'],
  ['null, true, lists and objects', '{"a":null,"b":true,"c":[1,[2,{"d":3}]],"e":{}}'],
  ['the key __proto__', '{"__proto__":{"polluted":true},"constructor":{"prototype":1}}'],
  ['the key toJSON', '{"toJSON":"text","toString":1,"valueOf":null}'],
])('%s in properties leaves as it came', async (title, properties) => {
  expect(await toldAs(title, properties)).toBe(properties)
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test('of a key that is there twice, the last value holds', async () => {
  expect(await toldAs('twice', '{"a":1,"a":2}')).toBe('{"a":2}')
})

test('NUL in ids and names is stored and told', async () => {
  const event = { id: 'i\u0000', event: 'e\u0000', userId: 'u\u0000', sessionId: 's\u0000' }
  await project.store([event])
  const [told] = (await project.userEvents('u\u0000')).events
  expect(told).toMatchObject(event)
  expect(usersOf(await project.funnel({ steps: [{ event: 'e\u0000' }] }))).toEqual([1])
})

test('half a surrogate pair in an id or a name refuses that event, and no other', async () => {
  const half = '\ud83d'
  const events = [
    { event: 'before', userId: 'halves' },
    { event: half, userId: 'halves' },
    { event: 'e', userId: half },
    { event: 'e', anonymousId: half },
    { event: 'e', userId: 'halves', id: half },
    { event: 'after', userId: 'halves' },
  ]
  const answer = await project.post(events)
  expect(answer.json<{ accepted: number; rejected: { index: number }[] }>()).toMatchObject({
    accepted: 2,
    rejected: [{ index: 1 }, { index: 2 }, { index: 3 }, { index: 4 }],
  })
  const told = await project.allUserEvents('halves')
  expect(told.map(({ event }) => event).sort()).toEqual(['after', 'before'])
})

test('__proto__, constructor and hasOwnProperty are event names and user ids like others', async () => {
  const names = ['__proto__', 'constructor', 'hasOwnProperty', 'toString']
  const other = await service.createProject()
  await other.store(names.map((name) => ({ event: name, userId: name, properties: { name } })))
  for (const name of names) {
    const where = [{ property: 'name', value: name }]
    expect(usersOf(await other.funnel({ steps: [{ event: name, where }] }))).toEqual([1])
    expect(await other.allUserEvents(name)).toHaveLength(1)
  }
})

test('a property called __proto__ can be asked about', async () => {
  const other = await service.createProject()
  const body = '{"event":"e","userId":"a","properties":{"__proto__":"x","n":{"__proto__":"y"}}}'
  await other.post(body)
  const asked = async (property: string, value: string) =>
    usersOf(await other.funnel({ steps: [{ event: 'e', where: [{ property, value }] }] }))
  expect(await asked('__proto__', 'x')).toEqual([1])
  expect(await asked('n.__proto__', 'y')).toEqual([1])
  expect(await asked('__proto__', 'y')).toEqual([0])
})

test('an event of 64 KiB is stored whole, and 600 of one user are told and counted', async () => {
  const other = await service.createProject()
  const large = (index: number) => ({
    ...{ event: 'large', userId: 'a', id: String(index) },
    properties: { text: 'x'.repeat(62_000), index },
  })
  const batches = Array.from({ length: 40 }, (_, batch) =>
    Array.from({ length: 15 }, (_, index) => large(batch * 15 + index)),
  )
  for (const batch of batches) await other.store(batch)
  const told = await other.allUserEvents('a')
  expect(told).toHaveLength(600)
  expect((told[0]!.properties['text'] as string).length).toBe(62_000)
  const where = [{ property: 'index', op: 'gte', value: 0 }]
  const answer = await other.funnel({ steps: [{ event: 'large', where }] })
  expect([usersOf(answer), answer.read.events]).toEqual([[1], 600])
})

test('what was sent beside properties is told', async () => {
  const time = new Date(Date.now() - 60_000).toISOString()
  const event = {
    ...{ id: '0b9f9f9e-0d5c-4d43-9d8c-0d6f4f0f1a11', event: 'whole', userId: 'whole' },
    ...{ anonymousId: 'anon', sessionId: 'session', time, properties: { a: 1 } },
  }
  await project.store([event])
  const [told] = (await project.userEvents('whole')).events
  expect(told).toEqual({ ...event, receivedAt: expect.any(String) as string })
})

test('an id stays the text that it was: a UUID in capitals is not put in lower case', async () => {
  const ids = ['0B9F9F9E-0D5C-4D43-9D8C-0D6F4F0F1A11', '0b9f9f9e-0d5c-4d43-9d8c-0d6f4f0f1a11', '7']
  await project.store(ids.map((id) => ({ event: 'ids', userId: 'ids', id })))
  const told = await project.allUserEvents('ids')
  expect(told.map(({ id }) => id).sort()).toEqual([...ids].sort())
})
