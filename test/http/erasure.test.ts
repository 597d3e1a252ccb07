import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { encodeRoot } from '../../src/segment/root.ts'
import { openTestService, usersOf, type TestProject } from '../support/service.ts'

const service = await openTestService()
const other = await openTestService({ SEALING: 'off' }, { testKeyspace: service.testKeyspace })
const { stores } = service.testKeyspace

const STEPS = [{ event: 'view' }, { event: 'buy' }]
const visit = (userId: string, id: string) => [
  { event: 'view', userId, id: `${id} v`, properties: { plan: userId } },
  { event: 'buy', userId, id: `${id} b` },
]

/** The ids that a list of those who came tells, in pages; ascending. */
async function listed(project: TestProject, source: string): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: string | undefined, isLast = false; !isLast; isLast = cursor === undefined) {
    const body = { steps: STEPS, step: 1, outcome: 'converted', source, cursor, limit: 20 }
    const answer = await service.send('/v1/funnels/users', { key: project.readKey, body })
    expect(answer.status).toBe(200)
    const page = answer.json<{ users: { userId: string }[]; cursor?: string }>()
    ids.push(...page.users.map(({ userId }) => userId))
    cursor = page.cursor
  }
  return ids.sort()
}

/**
 * How many users came and bought, by both sources, and whose values are told. The list of those who came and the
 * count of their values say the same.
 */
async function counted(project: TestProject) {
  const ask = (source: string) =>
    project.funnel({ steps: STEPS, source, breakdown: { property: 'plan' } })
  const [segments, events] = [await ask('segments'), await ask('events')]
  expect(segments.breakdown).toEqual(events.breakdown)
  expect(usersOf(segments)).toEqual(usersOf(events))
  for (const source of ['segments', 'events']) {
    expect(await listed(project, source)).toHaveLength(usersOf(segments)[0]!)
    const byValue = { steps: STEPS.slice(0, 1), source, count: { property: 'plan' } }
    expect(usersOf(await project.funnel(byValue))).toEqual(usersOf(segments).slice(0, 1))
  }
  return [...usersOf(segments), ...segments.breakdown!.map(({ value }) => value).toSorted()]
}

describe('an erased user', () => {
  test('is in no answer, sealed or not, by any process, and the others are untouched', async () => {
    const project = await service.createProject()
    await project.store([...visit('ada', '1'), ...visit('bob', '1'), ...visit('7', '1')])
    expect(await counted(project)).toEqual([3, 3, '7', 'ada', 'bob'])
    await project.store([...visit('ada', '2'), ...visit('eve', '1')])
    await project.erase('ada')
    for (const at of [project, project.at(other)]) {
      expect(await counted(at)).toEqual([3, 3, '7', 'bob', 'eve'])
      expect(await at.userEvents('ada')).toEqual({ events: [] })
      expect((await at.userEvents('bob')).events).toHaveLength(2)
    }
    await project.at(other).erase('7')
    expect(await counted(project)).toEqual([2, 2, 'bob', 'eve'])
  })

  test('who comes back is a new person, with what came after only', async () => {
    const project = await service.createProject()
    await project.store([...visit('ada', '1'), ...visit('bob', '1')])
    await counted(project)
    await project.erase('ada')
    // The purchase of before is no second step of the visit of after.
    await project.store(visit('ada', '2').slice(0, 1))
    expect(await counted(project)).toEqual([2, 1, 'ada', 'bob'])
    expect((await project.allUserEvents('ada')).map(({ id }) => id)).toEqual(['2 v'])
    // Sent again, an old event is a new one.
    await project.store(visit('ada', '1').slice(1))
    expect(await counted(project)).toEqual([2, 2, 'ada', 'bob'])
    await project.erase('ada')
    expect(await counted(project)).toEqual([1, 1, 'bob'])
  })

  test('stays away while segments are merged, and when there are more read groups', async () => {
    const project = await service.createProject()
    const users = Array.from({ length: 40 }, (_, index) => String(index * 29))
    for (let round = 0; round < 20; round++) {
      await project.store(users.slice(2 * round, 2 * round + 2).flatMap((id) => visit(id, 'x')))
      if (round === 10) await project.erase(users[0]!)
      await project.funnel({ steps: STEPS })
    }
    const { version, root } = await stores.snapshots.root(project.id)
    expect(Object.keys(root!.pages)).not.toEqual([])
    expect(usersOf(await project.funnel({ steps: STEPS }))).toEqual([39, 39])
    await project.erase(users[1]!)
    expect((await counted(project)).slice(0, 2)).toEqual([38, 38])
    const now = await stores.snapshots.root(project.id)
    expect(now.version).toBeGreaterThan(version)
    const grown = { ...now.root!, readGroupCount: 25, publication: randomUUID() }
    await stores.roots.publish(project.id, now.version, encodeRoot(grown))
    for (let round = 0; round < 20; round++) {
      await project.store(visit(`late ${round}`, 'x'))
      await project.funnel({ steps: STEPS })
    }
    expect((await counted(project)).slice(0, 2)).toEqual([58, 58])
    await project.erase('late 3')
    expect((await counted(project)).slice(0, 2)).toEqual([57, 57])
  })

  test('is in no shared answer: equal questions of before and after are two', async () => {
    const project = await service.createProject()
    await project.store([...visit('ada', '1'), ...visit('bob', '1')])
    await project.funnel({ steps: STEPS })
    const shared = async (source: string) => {
      const answers = await Promise.all(
        [project, project.at(other)].map((at) =>
          at.funnel({ steps: STEPS, source, freshness: 'sealed' }),
        ),
      )
      return answers.map((answer) => usersOf(answer)[0])
    }
    for (const source of ['segments', 'events']) expect(await shared(source)).toEqual([2, 2])
    await project.erase('ada')
    for (const source of ['segments', 'events']) expect(await shared(source)).toEqual([1, 1])
  })

  test('hides no copy that came after, on whichever page of the timeline', async () => {
    const project = await service.createProject()
    const hourMs = 3_600_000
    const noonMs = Math.floor(Date.now() / 86_400_000 - 1) * 86_400_000 + 12 * hourMs
    const at = (id: string, time: number) => ({ event: 'e', userId: 'ada', id, time })
    await project.store([at('moved', noonMs + hourMs)])
    await project.erase('ada')
    await project.store([at('kept', noonMs), at('moved', noonMs - hourMs)])
    const told = await project.allUserEvents('ada', 1)
    expect(told.map(({ id }) => id)).toEqual(['kept', 'moved'])
    expect(usersOf(await project.funnel({ steps: [{ event: 'e' }, { event: 'e' }] }))).toEqual([
      1, 1,
    ])
  })

  test('is on no further page of a list that was begun before', async () => {
    const project = await service.createProject()
    const users = Array.from({ length: 30 }, (_, index) => `user ${index}`)
    await project.store(users.flatMap((userId) => visit(userId, '1')))
    for (const source of ['segments', 'events']) {
      await project.funnel({ steps: STEPS })
      const question = { steps: STEPS, step: 2, outcome: 'converted', source, limit: 5 }
      const ask = async (cursor?: string) => {
        const body = { ...question, cursor }
        const answer = await service.send('/v1/funnels/users', { key: project.readKey, body })
        return answer.json<{ users: { userId: string }[]; cursor?: string }>()
      }
      const ids: string[] = []
      let page = await ask()
      const first = page.users.map(({ userId }) => userId)
      const later = users.filter((id) => !first.includes(id)).at(-1)!
      await project.erase(later)
      for (; page.cursor !== undefined; page = await ask(page.cursor))
        ids.push(...page.users.map(({ userId }) => userId))
      ids.push(...page.users.map(({ userId }) => userId))
      users.splice(users.indexOf(later), 1)
      expect(ids.sort()).toEqual(users.toSorted())
    }
  })

  test('is told with the moment of the erasure, unknown or not, anonymous or of strange signs', async () => {
    const project = await service.createProject()
    const events = ['anon:x', 'a/b', '😀', '%2F'].map((userId) => ({ event: 'view', userId }))
    await project.store(events)
    for (const { userId } of [...events, { userId: 'nobody' }]) {
      const path = `/v1/users/${encodeURIComponent(userId)}`
      const headers = { 'x-project': project.id }
      const answer = await service.admin(path, { method: 'DELETE', headers })
      expect([answer.status, answer.json()['userId']]).toEqual([202, userId])
      const agoMs = Date.now() - Date.parse(answer.json<{ erasedAt: string }>().erasedAt)
      expect(agoMs).toBeLessThan(10_000)
      expect((await project.userEvents(userId)).events).toEqual([])
    }
    expect(usersOf(await project.funnel({ steps: STEPS }))).toEqual([0, 0])
  })

  test('whose id no user can have is refused', async () => {
    const project = await service.createProject()
    const path = `/v1/users/${'u'.repeat(262)}`
    const headers = { 'x-project': project.id }
    const answer = await service.admin(path, { method: 'DELETE', headers })
    expect([answer.status, answer.json()['code']]).toEqual([400, 'INVALID_REQUEST'])
  })

  test('still counts in what cannot tell whose events it counts: hours and days', async () => {
    const project = await service.createProject()
    await project.store([...visit('ada', '1'), ...visit('bob', '1')])
    await project.funnel({ steps: STEPS })
    await project.store(visit('ada', '2'))
    await project.erase('ada')
    const path = '/v1/counts?event=view&interval=day&freshness=now'
    const answer = await service.send(path, { key: project.readKey })
    const { counts } = answer.json<{ counts: { count: number }[] }>()
    // What was sealed before is counted, what waited is not.
    const sum = counts.reduce((all, { count }) => all + count, 0)
    expect([2, 3]).toContain(sum)
  })
})

test('many erased at once are all gone, and sealing goes on beside it', async () => {
  const project = await service.createProject()
  const users = Array.from({ length: 30 }, (_, index) => `user ${index}`)
  await project.store(users.flatMap((userId) => visit(userId, '1')))
  await project.funnel({ steps: STEPS })
  const gone = users.slice(0, 20)
  await Promise.all([
    ...gone.map((userId, index) => project.at(index % 2 === 0 ? service : other).erase(userId)),
    ...[1, 2, 3].map(async (round) => {
      await project.store(visit(`new ${round}`, '1'))
      await project.funnel({ steps: STEPS })
    }),
  ])
  expect((await counted(project)).slice(0, 2)).toEqual([13, 13])
})
