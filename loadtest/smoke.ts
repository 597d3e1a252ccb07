/**
 * Asks: does all of it work together, at a small rate? Singles, batches, resends, funnels from both
 * sources, a user's events, counts. Every request is to succeed and every answer to be right. For CI.
 */
import { check } from 'k6'
import exec from 'k6/execution'
import type { Options } from 'k6/options'
import { call, jsonOf } from './support/call.ts'
import { CYCLE, journeys, stepNames } from './support/journeys.ts'
import { ledgerThresholds, settle } from './support/ledger.ts'
import { closeProject, openProject, type Project } from './support/project.ts'
import { askFunnel, usersOf } from './support/questions.ts'
import { resendEvents, sendEvents } from './support/send-events.ts'
import { numberFrom, secondsFrom } from './support/settings.ts'

const RATE = numberFrom('RATE', 5, 1_000)
const DURATION = `${secondsFrom('DURATION', '10s', 1)}s`
const P95_MS = numberFrom('P95_MS', 2_000, 600_000)
const BATCH_USERS = 3 * CYCLE
/** Scenarios take their users from ranges of their own. */
const BATCHES_FROM = 100_000_000
const QUESTIONS_FROM = 200_000_000

const at = (exec: string, rate: number) => ({
  ...{ executor: 'constant-arrival-rate' as const, exec, rate, duration: DURATION },
  ...{ preAllocatedVUs: 10 * rate, maxVUs: 10 * rate, gracefulStop: '30s' },
})

export const options: Options = {
  scenarios: {
    singles: at('sendSingle', RATE),
    batches: at('sendBatch', Math.ceil(RATE / 2)),
    questions: at('askAbout', Math.ceil(RATE / 5)),
  },
  thresholds: {
    ...ledgerThresholds,
    checks: ['rate==1'],
    http_req_failed: ['rate==0'],
    'http_req_duration{name:ingest}': [`p(95)<${P95_MS}`],
    // A question of now waits until what it asks about is sealed.
    'http_req_duration{name:funnel}': [`p(95)<${5 * P95_MS}`],
    'http_req_duration{name:user}': [`p(95)<${P95_MS}`],
    dropped_iterations: ['count==0'],
  },
  teardownTimeout: '10m',
}

export async function setup(): Promise<Project> {
  return await openProject()
}

/** Every second one is sent twice. */
export async function sendSingle(project: Project): Promise<void> {
  const serial = exec.scenario.iterationInTest
  // The first event only, whoever it is: the rest of the journey is not for this scenario.
  const events = journeys(project, serial, 1).slice(0, 1)
  const { isTaken } = await sendEvents(project, events)
  if (isTaken && serial % 2 === 0) await resendEvents(project, events)
}

/** Sends a batch, and some of it again together with events that are new. */
export async function sendBatch(project: Project): Promise<void> {
  const first = BATCHES_FROM + exec.scenario.iterationInTest * BATCH_USERS
  const events = journeys(project, first, BATCH_USERS)
  const { isTaken } = await sendEvents(project, events)
  if (isTaken) await resendEvents(project, events.slice(0, CYCLE))
}

/** One user does all steps; then every way to ask about it is to tell just that. */
export async function askAbout(project: Project): Promise<void> {
  const serial = QUESTIONS_FROM + exec.scenario.iterationInTest * CYCLE
  const events = journeys(project, serial, 1)
  const { isTaken } = await sendEvents(project, events)
  if (!isTaken) return

  const where = [{ property: 'serial', value: serial }]
  const steps = stepNames(project).map((event) => ({ event, where }))
  for (const source of ['segments', 'events']) {
    const answer = await askFunnel(project, 'funnel', { steps, source, freshness: 'now' })
    check(usersOf(answer), {
      [`a funnel of ${source} has just the user who was`]: (users) =>
        users.length === steps.length && users.every((count) => count === 1),
    })
  }
  const path = `/v1/users/${project.firstUserId + serial}/events`
  const listed = jsonOf<{ events: { id: string }[] }>(
    await call('GET', path, { key: project.readKey, name: 'user' }),
  )
  check(listed, {
    'a user has its events, newest first': (answer) =>
      answer?.events.map(({ id }) => id).join() ===
      events
        .map(({ id }) => id)
        .reverse()
        .join(),
  })
}

export async function teardown(project: Project): Promise<void> {
  await settle(project)
  await closeProject(project)
}
