// Goal: Cassandra goes away and comes back. Nothing that was acknowledged is lost, what was not can be sent
// again, and the service stops in time whatever Cassandra does.
import { afterAll, expect, inject, test } from 'vitest'
import { openProxy } from '../support/proxy.ts'
import { openTestService, usersOf } from '../support/service.ts'

const proxy = await openProxy(inject('database').contactPoints[0]!)
afterAll(proxy.close)
const service = await openTestService(
  { INGEST_ACKNOWLEDGE_TIMEOUT_MS: 1_000, USER_EVENTS_PER_DAY_MAX: 50, SHUTDOWN_TIMEOUT_MS: 2_000 },
  { contactPoints: [proxy.contactPoint] },
)

test('an outage is answered by 503, and what is sent again after it is stored once', async () => {
  const project = await service.createProject()
  const time = Date.now()
  const events = (from: number) =>
    Array.from({ length: 50 }, (_, index) => ({
      ...{ id: `e-${from + index}`, event: 'view', userId: 'resender', time: time - index },
    }))
  await project.store([{ id: 'before', event: 'view', userId: 'before', time }])

  proxy.cut()
  for (let attempt = 0; attempt < 5; attempt++) {
    const answer = await project.post(events(0))
    expect(answer.status).toBe(503)
    expect(answer.headers['retry-after']).toBe('1')
  }
  expect((await service.send('/readyz')).status).toBe(503)

  proxy.mend()
  // Sheds did not use up what the user may have that day.
  await expect
    .poll(async () => (await project.post(events(0))).json(), { timeout: 15_000, interval: 200 })
    .toEqual({ accepted: 50, rejected: [] })
  expect((await service.send('/readyz')).status).toBe(200)
  // Each thread finds its own way back.
  const question = { steps: [{ event: 'view' }], freshness: 'now' }
  await expect
    .poll(async () => (await project.ask(question)).status, { timeout: 15_000, interval: 200 })
    .toBe(200)
  expect(usersOf(await project.funnel(question))).toEqual([2])
  expect(await project.allUserEvents('resender')).toHaveLength(50)
})

test('the service stops in time while Cassandra is away', async () => {
  const project = await service.createProject()
  await project.store([{ event: 'view', userId: 1 }])
  proxy.cut()
  const startMs = performance.now()
  await service.close()
  expect(performance.now() - startMs).toBeLessThan(15_000)
})
