import { expect, test, vi } from 'vitest'
import { openTestService, usersOf, type TestProject } from '../support/service.ts'

const BATCH_EVENTS = 20
const BATCHES = 150

interface Posted {
  readonly ids: readonly string[]
  readonly status: number
  readonly code: unknown
  readonly retryAfter: string | undefined
}

function batchOf(batch: number) {
  const ids = Array.from({ length: BATCH_EVENTS }, (_, index) => `${batch}.${index}`)
  return ids.map((id) => ({ event: 'e', userId: id, id }))
}

/** Posts batches all at once; a batch without an answer has status 0. */
async function postAtOnce(project: TestProject): Promise<Posted[]> {
  return await Promise.all(
    Array.from({ length: BATCHES }, async (_, batch): Promise<Posted> => {
      const events = batchOf(batch)
      const ids = events.map(({ id }) => id)
      const answer = await project.post(events).catch(() => null)
      if (answer === null) return { ids, status: 0, code: null, retryAfter: undefined }
      const code = answer.status === 200 ? null : answer.json()['code']
      return { ids, status: answer.status, code, retryAfter: answer.headers['retry-after'] }
    }),
  )
}

async function countOf(project: TestProject): Promise<number> {
  return usersOf(await project.funnel({ steps: [{ event: 'e' }] }))[0]!
}

const acknowledgedIds = (posted: readonly Posted[]) =>
  posted.filter(({ status }) => status === 200).flatMap(({ ids }) => ids)

async function expectStored(project: TestProject, ids: readonly string[]): Promise<void> {
  for (const id of ids.filter((_, index) => index % 97 === 0))
    expect(await project.allUserEvents(id)).toMatchObject([{ id }])
}

test('what is too much is refused with 503 and Retry-After, and what is acknowledged is stored', async () => {
  const service = await openTestService({ INGEST_PENDING_EVENTS_MAX: 200 })
  const project = await service.createProject()
  const posted = await postAtOnce(project)
  const shed = posted.filter(({ status }) => status !== 200)
  expect(shed.length).toBeGreaterThan(0)
  expect(shed.length).toBeLessThan(BATCHES)
  for (const { status, code, retryAfter } of shed)
    expect([status, code, Number(retryAfter)]).toEqual([503, 'OVERLOADED', 1])
  const acknowledged = acknowledgedIds(posted)
  // What was shed had not been taken: a refused batch leaves nothing behind.
  expect(await countOf(project)).toBe(acknowledged.length)
  await expectStored(project, acknowledged)
  expect(await service.metric('ingest_events_total{outcome="shed"}')).toBe(
    shed.length * BATCH_EVENTS,
  )
  await vi.waitFor(async () => expect(await service.metric('ingest_pending_events')).toBe(0))
})

test('who sends again what was refused has all of it stored, once', async () => {
  const service = await openTestService({ INGEST_PENDING_EVENTS_MAX: 200 })
  const project = await service.createProject()
  await Promise.all(
    Array.from({ length: BATCHES }, async (_, batch) => {
      const events = batchOf(batch)
      await vi.waitFor(async () => expect((await project.post(events)).status).toBe(200), {
        ...{ timeout: 30_000, interval: 20 },
      })
    }),
  )
  expect(await service.metric('ingest_events_total{outcome="shed"}')).toBeGreaterThan(0)
  expect(await countOf(project)).toBe(BATCHES * BATCH_EVENTS)
  expect(await project.allUserEvents('7.7')).toHaveLength(1)
})

test('more bodies than may be held at a time are refused with 503', async () => {
  const service = await openTestService({ BODY_BYTES_IN_FLIGHT_MAX: 1_048_576 })
  const project = await service.createProject()
  const body = `{"event":"e","userId":"a"${' '.repeat(500_000)}}`
  const answers = await Promise.all(Array.from({ length: 30 }, () => project.post(body)))
  const statuses = new Set(answers.map(({ status }) => status))
  expect([...statuses].sort()).toEqual([200, 503])
  const acknowledged = answers.filter(({ status }) => status === 200).length
  expect(await project.allUserEvents('a')).toHaveLength(acknowledged)
  // What was held is let go again.
  expect((await project.post(body)).status).toBe(200)
})

test('a service that is closed under load has stored what it acknowledged, and nothing twice', async () => {
  const service = await openTestService({ INGEST_LINGER_MS: 50 })
  const next = await openTestService({}, { testKeyspace: service.testKeyspace })
  const project = await service.createProject()
  const posting = postAtOnce(project)
  await vi.waitFor(
    async () => expect(await service.metric('ingest_pending_events')).toBeGreaterThan(0),
    { timeout: 10_000, interval: 1 },
  )
  await service.close()
  const posted = await posting
  const acknowledged = acknowledgedIds(posted)
  expect(acknowledged.length).toBeGreaterThan(0)
  const there = project.at(next)
  expect(await countOf(there)).toBeGreaterThanOrEqual(acknowledged.length)
  await expectStored(there, acknowledged)

  // The sender goes on at another process: resends are stored once.
  const again = await postAtOnce(there)
  expect(again.every(({ status }) => status === 200)).toBe(true)
  expect(await countOf(there)).toBe(BATCHES * BATCH_EVENTS)
  await expectStored(there, acknowledged)
})
