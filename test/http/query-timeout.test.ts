import { expect, test } from 'vitest'
import { openTestService, usersOf } from '../support/service.ts'

// Longer than planning and reading take, shorter than the fold of the question below.
const service = await openTestService({ QUERY_TIMEOUT_MS: 1_000 })

test('a question is given up in time, though a thread folds on', async () => {
  const project = await service.createProject()
  await project.store(
    Array.from({ length: 20_000 }, (_, index) => ({
      ...{ event: 'view', userId: index, properties: { text: `${'long '.repeat(100)}${index}` } },
    })),
  )
  const where = (step: number) =>
    Array.from({ length: 50 }, (_, index) => ({
      ...{ property: 'text', op: 'notContains', value: `none ${step} ${index}` },
    }))
  const steps = Array.from({ length: 20 }, (_, step) => ({ event: 'view', where: where(step) }))
  const startMs = performance.now()
  const answer = await project.ask({ steps })
  expect(answer.json()).toMatchObject({ code: 'QUERY_TIMEOUT' })
  expect(performance.now() - startMs).toBeLessThan(5_000)
  await expect
    .poll(async () => (await project.ask({ steps: [{ event: 'view' }] })).status, {
      ...{ timeout: 60_000, interval: 500 },
    })
    .toBe(200)
  expect(usersOf(await project.funnel({ steps: [{ event: 'view' }] }))).toEqual([20_000])
})

test('a question of more than 1,000 conditions in all is refused', async () => {
  const project = await service.createProject()
  const alternative = {
    ...{ event: 'view' },
    where: Array.from({ length: 50 }, (_, index) => ({ property: 'text', value: `${index}` })),
  }
  const ask = (count: number) =>
    project.ask({ steps: [{ anyOf: Array.from({ length: count }, () => alternative) }] })
  expect((await ask(20)).status).toBe(200)
  const refused = await ask(21)
  expect([refused.status, refused.json()]).toEqual([
    400,
    expect.objectContaining({
      errors: [expect.objectContaining({ message: 'at most 1000 conditions in all' })],
    }),
  ])
})
