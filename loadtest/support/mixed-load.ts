/** Ingest and questions side by side, for the scripts that ask how the two get along. */
import { check } from 'k6'
import exec from 'k6/execution'
import { Trend } from 'k6/metrics'
import { call } from './call.ts'
import { journeys } from './journeys.ts'
import type { Project } from './project.ts'
import { askFunnel, journeyFunnel, usersOf } from './questions.ts'
import { sendEvents } from './send-events.ts'

const USERS_PER_BATCH = 50

const behind = new Trend('answer_behind', true)

/** Sends the batch of this iteration; `first` is where the users of its scenario begin. */
export async function sendNextBatch(project: Project, first = 0): Promise<void> {
  const serial = first + exec.scenario.iterationInTest * USERS_PER_BATCH
  await sendEvents(project, journeys(project, serial, USERS_PER_BATCH))
}

/** Asks what is sealed, and measures how far behind the clock that is. Clocks are taken to be equal. */
export async function askWhatIsSealed(project: Project): Promise<void> {
  const query = journeyFunnel(project, exec.scenario.iterationInTest)
  const answer = await askFunnel(project, 'funnel', query)
  if (answer !== null) behind.add(Math.max(0, Date.now() - Date.parse(answer.asOf)))
  check(usersOf(answer), {
    'no step has more users than the one before': (users) =>
      users.every((count, step) => step === 0 || count <= users[step - 1]!),
  })
}

/** Asks for the newest events of a user of the first batch. */
export async function askAboutUser(project: Project): Promise<void> {
  const serial = exec.scenario.iterationInTest % USERS_PER_BATCH
  const path = `/v1/users/${project.firstUserId + serial}/events`
  await call('GET', path, { key: project.readKey, name: 'user' })
}
