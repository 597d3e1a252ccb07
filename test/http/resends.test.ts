import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { openTestService, usersOf, type TestProject } from '../support/service.ts'

const service = await openTestService()
const other = await openTestService({}, { testKeyspace: service.testKeyspace })
const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
/** Noon of yesterday, so that some hours to both sides are of the same day. */
const NOON_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS / 2

/** How many events there are: in the funnel, told by chains of the same name, and in the timeline. */
async function counted(project: TestProject, event: string, userId: string) {
  const steps = Array.from({ length: 6 }, () => ({ event }))
  const reached = usersOf(await project.funnel({ steps })).reduce((sum, users) => sum + users, 0)
  const listed = (await project.allUserEvents(userId)).filter((one) => one.event === event)
  return { funnel: reached, timeline: listed.length }
}

test('an event sent twice is counted once, in funnel and timeline', async () => {
  const project = await service.createProject()
  const event = { event: 'e', userId: 'a', id: 'one', time: NOON_MS }
  await project.store([event, event])
  await project.store([event])
  expect(await counted(project, 'e', 'a')).toEqual({ funnel: 1, timeline: 1 })
})

test('copies with other times of the same day are one event', async () => {
  const project = await service.createProject()
  for (const minutes of [0, 5, -7, 60, 3])
    await project.store([
      { event: 'e', userId: 'a', id: 'one', time: NOON_MS + minutes * MINUTE_MS },
    ])
  expect(await counted(project, 'e', 'a')).toEqual({ funnel: 1, timeline: 1 })
})

test('copies are one event on every page of a timeline', async () => {
  const project = await service.createProject()
  const copies = Array.from({ length: 40 }, (_, index) => ({
    ...{ event: 'e', userId: 'a', id: `id ${index % 10}` },
    time: NOON_MS + ((index * 17) % 40) * MINUTE_MS,
  }))
  await project.store(copies)
  for (const limit of [1, 2, 3, 7, 9, 10, 11]) {
    const events = await project.allUserEvents('a', limit)
    expect(new Set(events.map(({ id }) => id)).size).toBe(10)
    expect(events).toHaveLength(10)
  }
})

test('the same id on another day, of another user or another name is another event', async () => {
  const project = await service.createProject()
  const event = { event: 'e', userId: 'a', id: 'one', time: NOON_MS }
  await project.store([
    event,
    { ...event, time: NOON_MS - DAY_MS },
    { ...event, userId: 'b' },
    { ...event, event: 'f' },
  ])
  expect(await counted(project, 'e', 'a')).toEqual({ funnel: 3, timeline: 2 })
  expect(await counted(project, 'f', 'a')).toEqual({ funnel: 1, timeline: 1 })
})

test('events without an id are all counted', async () => {
  const project = await service.createProject()
  const event = { event: 'e', userId: 'a', time: NOON_MS }
  await project.store([event, event, event])
  expect(await counted(project, 'e', 'a')).toEqual({ funnel: 3, timeline: 3 })
})

test('a number for an id is its decimal text', async () => {
  const project = await service.createProject()
  await project.store([
    { event: 'e', userId: 7, id: 12, time: NOON_MS },
    { event: 'e', userId: '7', id: '12', time: NOON_MS },
  ])
  expect(await counted(project, 'e', '7')).toEqual({ funnel: 1, timeline: 1 })
})

test('a resend to another process is counted once', async () => {
  const project = await service.createProject()
  const there = project.at(other)
  const events = Array.from({ length: 300 }, (_, index) => ({
    ...{ event: 'e', userId: `user ${index % 3}`, id: randomUUID() },
    time: NOON_MS + index,
  }))
  const later = events.map((event) => ({ ...event, time: event.time + MINUTE_MS }))
  await Promise.all([project.store(events), there.store(events), there.store(later)])
  for (const one of [project, there]) expect(await one.allUserEvents('user 1')).toHaveLength(100)
  const { steps } = await there.funnel({
    steps: Array.from({ length: 32 }, () => ({ event: 'e' })),
  })
  expect(usersOf({ steps })).toEqual(Array.from({ length: 32 }, () => 3))
})

test('the same batch at once from many connections is stored once', async () => {
  const project = await service.createProject()
  const events = Array.from({ length: 50 }, (_, index) => ({
    ...{ event: 'e', userId: 'a', id: `id ${index}`, time: NOON_MS + (index % 5) },
  }))
  await Promise.all(Array.from({ length: 20 }, () => project.store(events)))
  expect(await project.allUserEvents('a')).toHaveLength(50)
})
