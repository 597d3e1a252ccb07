import { afterEach, describe, expect, test, vi } from 'vitest'
import { openEventStream, type EventStream } from '../support/event-stream.ts'
import { openTestService, type ListedEvent, type TestProject } from '../support/service.ts'

const service = await openTestService()
const other = await openTestService({}, { testKeyspace: service.testKeyspace })

const streams: EventStream[] = []
afterEach(() => {
  for (const stream of streams.splice(0)) stream.close()
})

async function listen(
  { readKey }: Pick<TestProject, 'readKey'>,
  { query = '', at = service }: { query?: string; at?: { readonly url: string } } = {},
) {
  const stream = await openEventStream(`${at.url}/v1/events/live${query}`, readKey)
  streams.push(stream)
  return stream
}

const eventsOf = ({ messages }: EventStream) =>
  messages.filter(({ event }) => event === 'event').map(({ data }) => data as ListedEvent)
const namesOf = (stream: EventStream) => eventsOf(stream).map(({ event }) => event)
/** Stores an event, and waits for it: all that came before it was told by then. */
async function mark(project: TestProject, stream: EventStream, event = 'mark') {
  await project.store([{ event, userId: 'mark' }])
  await vi.waitFor(() => expect(namesOf(stream)).toContain(event), { timeout: 10_000 })
}

test('tells what is stored after it began, in the shape of other answers, and nothing before', async () => {
  const project = await service.createProject()
  await project.store([{ event: 'before', userId: 1 }])
  const stream = await listen(project)
  expect(stream.status).toBe(200)
  expect(stream.headers['content-type']).toBe('text/event-stream')
  const sent = {
    ...{ id: 'x', event: 'e', anonymousId: 'ü', sessionId: 's', time: '2026-11-30T12:00:00.123Z' },
    properties: { text: 'a\nb\u2028', n: { deep: [1, null] } },
  }
  await project.store([sent])
  await mark(project, stream)
  expect(namesOf(stream)).toEqual(['e', 'mark'])
  const [told] = eventsOf(stream)
  expect(told).toEqual({ ...sent, userId: 'anon:ü', receivedAt: expect.any(String) })
  expect(stream.messages[0]!.id).toMatch(/^[0-9a-f-]{36}$/)
  expect(stream.comments()).toBeGreaterThan(0)
  expect((await project.userEvents('anon:ü')).events).toEqual([told])
})

test('tells what other processes take in, whether they wrote before or not', async () => {
  const project = await service.createProject()
  await project.at(other).store([{ event: 'before', userId: 1 }])
  const [here, there] = [await listen(project), await listen(project, { at: other })]
  await project.at(other).store([{ event: 'at the other', userId: 1 }])
  await project.store([{ event: 'at this', userId: 1 }])
  for (const stream of [here, there])
    await vi.waitFor(
      () => expect(namesOf(stream).toSorted()).toEqual(['at the other', 'at this']),
      { timeout: 10_000 },
    )
})

test('tells an event once that is sent again, here or elsewhere, or twice in a batch', async () => {
  const project = await service.createProject()
  const stream = await listen(project)
  const event = { id: 'once', event: 'e', userId: 1, time: Date.now() }
  await project.store([event, event])
  await project.store([event])
  await project.at(other).store([event])
  await mark(project, stream)
  await mark(project.at(other), stream, 'mark of the other')
  expect(namesOf(stream).filter((name) => name === 'e')).toHaveLength(1)
})

test('tells every event of many commits, in the order of one sender', async () => {
  const project = await service.createProject()
  const stream = await listen(project)
  // More commits than a page of a writer's numbers has.
  const names = Array.from({ length: 300 }, (_, index) => `e${index}`)
  for (const event of names) await project.store([{ event, userId: 1 }])
  await vi.waitFor(() => expect(eventsOf(stream)).toHaveLength(300), { timeout: 20_000 })
  expect(namesOf(stream)).toEqual(names)
})

test('tells only events of the name that is asked for', async () => {
  const project = await service.createProject()
  const [some, all] = [await listen(project, { query: '?event=%24buy' }), await listen(project)]
  await project.store(['view', '$buy', 'view', '$buy'].map((event) => ({ event, userId: 1 })))
  await vi.waitFor(() => expect(eventsOf(all)).toHaveLength(4), { timeout: 10_000 })
  await vi.waitFor(() => expect(namesOf(some)).toEqual(['$buy', '$buy']))
})

test('tells nothing of other projects', async () => {
  const [project, stranger] = [await service.createProject(), await service.createProject()]
  const stream = await listen(project)
  await stranger.store([{ event: 'theirs', userId: 1 }])
  await mark(project, stream)
  expect(namesOf(stream)).toEqual(['mark'])
})

test('a second listener is not told what came before it', async () => {
  const project = await service.createProject()
  const first = await listen(project)
  await project.store([{ event: 'early', userId: 1 }])
  const second = await listen(project)
  await mark(project, second)
  expect(namesOf(second)).toEqual(['mark'])
  await vi.waitFor(() => expect(namesOf(first)).toEqual(['early', 'mark']))
})

test('a client that does not read is told how many it missed, and holds nobody up', async () => {
  const project = await service.createProject()
  const slow = await listen(project)
  const fast = await listen(project)
  slow.pause()
  const text = 'x'.repeat(20_000)
  const batch = Array.from({ length: 40 }, () => ({ event: 'e', userId: 1, properties: { text } }))
  // 24 MB: more than the sockets on the way and the buffer hold.
  for (let sent = 0; sent < 30; sent++) await project.store(batch)
  await mark(project, fast)
  slow.resume()
  const missed = () =>
    slow.messages
      .filter(({ event }) => event === 'dropped')
      .reduce((sum, { data }) => sum + (data as { count: number }).count, 0)
  await vi.waitFor(() => expect(eventsOf(slow).length + missed()).toBeGreaterThanOrEqual(1_201), {
    timeout: 20_000,
  })
  expect(missed()).toBeGreaterThan(0)
  expect(eventsOf(slow).length + missed()).toBe(1_201)
  await mark(project, slow, 'later')
})

test('ends when its key is revoked, here at once and elsewhere soon', async () => {
  const project = await service.createProject()
  const { keys } = (await service.admin(`/v1/projects/${project.id}/keys`)).json<{
    keys: { keyId: string; kind: string }[]
  }>()
  const { keyId } = keys.find(({ kind }) => kind === 'read')!
  const here = await listen(project)
  const there = await listen(project, { at: other })
  const path = `/v1/projects/${project.id}/keys/${keyId}`
  expect((await service.admin(path, { method: 'DELETE' })).status).toBe(204)
  const startMs = Date.now()
  await here.ended
  expect(Date.now() - startMs).toBeLessThan(3_000)
  await there.ended
  expect(Date.now() - startMs).toBeLessThan(9_000)
})

describe('what is asked wrongly', () => {
  test('is refused by its key', async () => {
    const { writeKey } = await service.createProject()
    expect((await listen({ readKey: writeKey })).status).toBe(403)
    expect((await listen({ readKey: 'tf_r_x' })).status).toBe(401)
    const { readKey } = await service.createProject()
    const inAddress = await openEventStream(`${service.url}/v1/events/live?key=${readKey}`)
    expect(inAddress.status).toBe(401)
  })

  test('is refused by its name', async () => {
    const project = await service.createProject()
    expect((await listen(project, { query: '?event=' })).status).toBe(400)
    expect((await listen(project, { query: `?event=${'x'.repeat(201)}` })).status).toBe(400)
  })
})

test('one project may have 20 listeners, and others are not kept out', async () => {
  const [project, stranger] = [await service.createProject(), await service.createProject()]
  const all = await Promise.all(Array.from({ length: 21 }, () => listen(project)))
  const refused = all.filter(({ status }) => status !== 200)
  expect(refused.map(({ status, headers }) => [status, headers['retry-after']])).toEqual([
    [503, '1'],
  ])
  expect((await listen(stranger)).status).toBe(200)
  // Who leaves makes room.
  all.find(({ status }) => status === 200)!.close()
  await vi.waitFor(async () => expect((await listen(project)).status).toBe(200), {
    timeout: 10_000,
  })
})

test('ends when the service stops, which does not wait for it', async () => {
  const project = await service.createProject()
  const stopping = await openTestService({}, { testKeyspace: service.testKeyspace })
  const [stream, stuck] = [
    await listen(project, { at: stopping }),
    await listen(project, { at: stopping }),
  ]
  stuck.pause()
  const startMs = Date.now()
  await stopping.close()
  await stream.ended
  expect(Date.now() - startMs).toBeLessThan(8_000)
})
