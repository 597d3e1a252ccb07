import { expect, test } from 'vitest'
import { throwRubbish } from '../../bench/rubbish.ts'
import { openTestService, usersOf } from '../support/service.ts'

const service = await openTestService()

test('1,000 rubbish bodies get no status of 500 or more, and leave the service right', async () => {
  const project = await service.createProject()
  await project.store([{ event: 'kept', userId: 'kept' }])
  const { byStatus, fivexx } = await throwRubbish({
    ...{ url: service.url, writeKey: project.writeKey, readKey: project.readKey },
    ...{ seed: 1, bodyCount: 1_000 },
  })
  expect([fivexx, byStatus]).toEqual([0, expect.anything()])
  expect(Object.keys(byStatus)).toEqual(expect.arrayContaining(['200', '400', '413', '415']))
  expect(usersOf(await project.funnel({ steps: [{ event: 'kept' }] }))).toEqual([1])
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})
