import { afterAll, expect, inject, test } from 'vitest'
import { registerRecount } from '../../src/cli/recount.ts'
import { registerSeal } from '../../src/cli/seal.ts'
import type { RegisterCommand } from '../../src/cli/run-commands.ts'
import { DAY_MS, dayOf } from '../../src/event/day.ts'
import { runCommand } from '../support/command-line.ts'
import { temporaryFolder } from '../support/data-dir.ts'
import { send } from '../support/http-client.ts'
import { asMigrationRole } from '../support/keyspace.ts'
import { openTestService } from '../support/service.ts'

const service = await openTestService({ SEALING: 'off' })
const folder = await temporaryFolder()
afterAll(folder.remove)
const project = await service.createProject()
const { keyspace } = service.testKeyspace
const { contactPoints, localDataCenter, service: login } = inject('database')
const environment = {
  ...{ DATA_DIR: folder.path, LOG_LEVEL: 'silent', CASSANDRA_KEYSPACE: keyspace },
  ...{ CASSANDRA_CONTACT_POINTS: contactPoints.join(','), CASSANDRA_LOCAL_DC: localDataCenter },
  CASSANDRA_USERNAME: login?.username ?? '',
  CASSANDRA_PASSWORD: login?.password ?? '',
}
const run = (register: RegisterCommand, ...words: string[]) =>
  runCommand(register, words, environment)
const recount = (...words: string[]) =>
  run(registerRecount, 'recount', '--project', project.id, ...words)

interface Line {
  readonly day: string
  readonly event: string
  readonly stored: number
  readonly sealed: number
  readonly agrees: boolean
}

async function lines(...words: string[]) {
  const { code, out, errors } = await recount('--json', ...words)
  const text = out.trimEnd()
  const counts = text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as Line)
  return { code, errors, counts }
}

/** Over two months, so many that days have several names and copies. */
const NOON_MS = dayOf(Date.now()) * DAY_MS - DAY_MS / 2
const EVENTS = Array.from({ length: 600 }, (_, index) => ({
  ...{
    id: `e-${index % 550}`,
    userId: (index % 550) % 40,
    event: index % 2 === 0 ? 'view' : 'buy',
  },
  // A copy has another time of its day.
  time: NOON_MS - ((index % 550) % 25) * DAY_MS + index,
}))

/** By day and name, the ids that were sent. */
function sentCounts(): Map<string, number> {
  const ids = new Map<string, Set<string>>()
  for (const { id, event, time } of EVENTS) {
    const key = `${new Date(time).toISOString().slice(0, 10)} ${event}`
    ids.set(key, (ids.get(key) ?? new Set()).add(id))
  }
  return new Map([...ids].map(([key, set]) => [key, set.size]))
}

test('rows are counted by day and name, copies once, and differ until they are sealed', async () => {
  await project.store(EVENTS)
  const before = await lines()
  expect([before.code, before.errors]).toEqual([
    ...[1, expect.stringMatching(/^\d+ events wait to be sealed: `npx thousandfold seal --once`/)],
  ])
  expect(
    new Map(before.counts.map(({ day, event, stored }) => [`${day} ${event}`, stored])),
  ).toEqual(sentCounts())
  expect(before.counts.every(({ sealed, agrees }) => sealed === 0 && !agrees)).toBe(true)

  await run(registerSeal, 'seal', '--once')
  const after = await lines()
  expect([after.code, after.errors]).toEqual([0, ''])
  expect(after.counts).toEqual(
    before.counts.map((count) => ({ ...count, sealed: count.stored, fresh: 0, agrees: true })),
  )
  expect((await recount()).out).toMatch(/\n\n550 events in rows; all agree\n$/)
})

test('segments say what GET /v1/counts says', async () => {
  const { counts } = await lines('--event', 'buy')
  expect(counts.every(({ event }) => event === 'buy')).toBe(true)
  const answer = await send(`${service.url}/v1/counts?event=buy`, { key: project.readKey })
  const told = answer.json<{ counts: { time: string; count: number }[] }>().counts
  const days = told.flatMap(({ time, count }) => (count === 0 ? [] : [[time.slice(0, 10), count]]))
  expect(counts.map(({ day, sealed }) => [day, sealed])).toEqual(days)
})

test('only the days of a range are counted', async () => {
  const [from, to] = [NOON_MS - 3 * DAY_MS, NOON_MS - 2 * DAY_MS].map((ms) =>
    new Date(ms).toISOString().slice(0, 10),
  ) as [string, string]
  const { counts } = await lines('--from', from, '--to', to)
  expect(new Set(counts.map(({ day }) => day))).toEqual(new Set([from]))
  expect((await lines('--from', to, '--to', to)).counts).toEqual([])
})

test('an erased user is told, and no difference', async () => {
  await project.erase('7')
  const { code, out } = await recount()
  expect([code, out]).toEqual([0, expect.stringContaining('all agree')])
  const { counts } = await lines()
  expect(counts.reduce((sum, count) => sum + (count as Line & { erased: number }).erased, 0)).toBe(
    new Set(EVENTS.flatMap(({ id, userId }) => (userId === 7 ? [id] : []))).size,
  )
})

test('a row that is lost is found, though nothing waits', async () => {
  const { time } = EVENTS[3]!
  const where = `project = '${project.id}' AND bucket = 3 AND day = ${dayOf(time)}`
  await asMigrationRole(keyspace, `DELETE FROM ${keyspace}.events WHERE ${where}`)
  const { code, out, errors } = await recount()
  expect([code, errors]).toEqual([
    1,
    'rows and segments differ, and nothing newer waits to be sealed\n',
  ])
  expect(out).toMatch(/ NO\n/)
  expect(out).toMatch(/ differ\n$/)
})

test('an unknown project is told', async () => {
  const { code, errors } = await run(registerRecount, 'recount', '--project', 'nobody')
  expect([code, errors]).toEqual([1, 'NOT_FOUND: no such project: nobody\n'])
})
