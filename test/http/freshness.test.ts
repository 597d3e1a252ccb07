import { request } from 'node:http'
import { expect, test, vi } from 'vitest'
import { openTestService, usersOf, type TestProject } from '../support/service.ts'

const service = await openTestService()
const steps = [{ event: 'e' }]
const sealed = { freshness: 'sealed' }

const labelled = (label: string) => [{ event: 'e', label }]
let asked = 0
/** The same question in other words, so that it is answered anew. */
const again = () => ({ steps: labelled(`e ${asked++}`), ...sealed })

async function sealedUsers(project: TestProject): Promise<number[]> {
  return usersOf(await project.funnel(again()))
}

test('what was acknowledged is counted at once with freshness now, and soon without', async () => {
  const project = await service.createProject()
  for (let user = 1; user <= 3; user++) {
    await project.store([{ event: 'e', userId: user }])
    expect(usersOf(await project.funnel({ steps, freshness: 'now' }))).toEqual([user])
  }
  await project.store([{ event: 'e', userId: 4 }])
  await expect.poll(() => sealedUsers(project), { timeout: 30_000 }).toEqual([4])
})

test('asOf is before the asking, and goes on while nothing happens', async () => {
  const project = await service.createProject()
  await project.store([{ event: 'e', userId: 1 }])
  const first = await project.funnel({ steps, freshness: 'now' })
  const beforeMs = Date.now()
  await expect
    .poll(async () => Date.parse((await project.funnel(again())).asOf), { timeout: 30_000 })
    .toBeGreaterThan(beforeMs - 500)
  expect(Date.parse(first.asOf)).toBeLessThanOrEqual(beforeMs)
})

test('equal questions within some seconds share one execution, and its age is told', async () => {
  const project = await service.createProject()
  await project.store([{ event: 'e', userId: 1 }])
  const question = { steps: labelled('shared'), ...sealed }
  const answered = 'query_duration_seconds_count{kind="funnel",outcome="ok"}'
  const before = await service.metric(answered)
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => project.funnel(question)))
  const later = await project.funnel(question)
  expect((await service.metric(answered)) - before).toBe(1)
  expect(new Set([...answers, later].map(({ asOf }) => asOf)).size).toBe(1)
  expect(later.ageMs).toBeGreaterThan(0)
  // What is to be of now is not shared.
  await project.funnel({ ...question, freshness: 'now' })
  expect((await service.metric(answered)) - before).toBe(2)
})

test('an asker who goes away leaves the answer to the others', async () => {
  const project = await service.createProject()
  await project.store([{ event: 'e', userId: 1 }])
  const body = JSON.stringify({ steps: labelled('left'), ...sealed })
  const headers = { authorization: `Bearer ${project.readKey}` }
  const leaving = request(`${service.url}/v1/funnels`, { method: 'POST', headers })
  leaving.on('error', () => undefined)
  leaving.end(body)
  const staying = project.funnel(JSON.parse(body) as object)
  leaving.destroy()
  expect((await staying).steps).toHaveLength(1)
})

test('a question over more events than are allowed is refused with the number', async () => {
  const small = await openTestService({ QUERY_EVENTS_MAX: 10 }, service)
  const project = await service.createProject()
  await project.store(Array.from({ length: 11 }, (_, userId) => ({ event: 'e', userId })))
  await project.funnel({ steps })
  const answer = await project.at(small).ask({ steps, freshness: 'now' })
  expect([answer.status, answer.json()['code']]).toEqual([422, 'QUERY_TOO_LARGE'])
  expect(answer.json()['detail']).toContain('11 events')
})

test('the figures of the threads are among the metrics', async () => {
  const sample =
    'store_statement_duration_seconds_count{table="roots",operation="publish",outcome="ok"}'
  await vi.waitFor(async () => expect(await service.metric(sample)).toBeGreaterThan(0), 20_000)
  expect(await service.metric('process_start_time_seconds')).toBeLessThan(1e11)
})

test('before anything is sealed an answer is as of when the project was made', async () => {
  const idle = await openTestService({ SEALING: 'off' })
  const beforeMs = Date.now()
  const project = await idle.createProject()
  const afterMs = Date.now()
  await project.store([{ event: 'e', userId: 1 }])
  const { asOf, steps: counted } = await project.funnel(again())
  expect(usersOf({ steps: counted })).toEqual([0])
  expect(Date.parse(asOf)).toBeGreaterThan(beforeMs - 1_000)
  expect(Date.parse(asOf)).toBeLessThanOrEqual(afterMs)
})
