/** Asks: with USERS users stored, are RATE questions a second of each kind answered in time, and right? */
import { check } from 'k6'
import exec from 'k6/execution'
import type { Options } from 'k6/options'
import { COUNTRY_COUNT, stepNames, usersPerStep } from './support/journeys.ts'
import { ledgerThresholds, settle } from './support/ledger.ts'
import { closeProject, openProject, type Project } from './support/project.ts'
import { askFunnel, journeyFunnel, usersOf } from './support/questions.ts'
import { sendUsers } from './support/send-events.ts'
import { numberFrom, secondsFrom } from './support/settings.ts'

const RATE = numberFrom('RATE', 2, 1_000)
const DURATION = `${secondsFrom('DURATION', '30s', 1)}s`
const USERS = numberFrom('USERS', 20_000, 10_000_000)
const P95_MS = numberFrom('P95_MS', 1_000, 600_000)
const VUS = numberFrom('VUS', 10 * RATE, 10_000)

const EXPECTED = usersPerStep(USERS).join()
/** Kinds of questions are made different from each other and within themselves, so that none is shared. */
const KINDS = 3

const at = (exec: string) => ({
  ...{ executor: 'constant-arrival-rate' as const, exec, rate: RATE, duration: DURATION },
  ...{ preAllocatedVUs: VUS, maxVUs: VUS },
})

export const options: Options = {
  scenarios: {
    one_step: at('askOneStep'),
    journey: at('askJourney'),
    by_country: at('askByCountry'),
  },
  thresholds: {
    ...ledgerThresholds,
    checks: ['rate==1'],
    http_req_failed: ['rate==0'],
    'http_req_duration{name:one_step}': [`p(95)<${P95_MS}`],
    'http_req_duration{name:journey}': [`p(95)<${P95_MS}`],
    'http_req_duration{name:by_country}': [`p(95)<${2 * P95_MS}`],
    dropped_iterations: ['count==0'],
  },
  setupTimeout: '15m',
  teardownTimeout: '15m',
}

/** Stores the users, and waits until they are sealed: the questions are of segments as they are. */
export async function setup(): Promise<Project> {
  const project = await openProject()
  await sendUsers(project, USERS)
  await askFunnel(project, 'setup', { ...journeyFunnel(project, 0), freshness: 'now' }, '10m')
  return project
}

export async function askOneStep(project: Project): Promise<void> {
  const { windowMs } = journeyFunnel(project, serialOf(0))
  const steps = [{ event: stepNames(project)[0]! }]
  const users = usersOf(await askFunnel(project, 'one_step', { steps, windowMs }))
  check(users, { 'one step has all its users': ([count]) => count === USERS })
}

export async function askJourney(project: Project): Promise<void> {
  const users = usersOf(await askFunnel(project, 'journey', journeyFunnel(project, serialOf(1))))
  check(users, { 'each step has its users': (counts) => counts.join() === EXPECTED })
}

export async function askByCountry(project: Project): Promise<void> {
  const query = { ...journeyFunnel(project, serialOf(2)), breakdown: { property: 'country' } }
  const answer = await askFunnel(project, 'by_country', query)
  check(answer?.breakdown ?? [], {
    'every country is there': (values) => values.length === Math.min(COUNTRY_COUNT, USERS),
    'all countries together have all users': (values) =>
      values.reduce((sum, { steps }) => sum + steps[0]!.users, 0) === USERS,
  })
}

export async function teardown(project: Project): Promise<void> {
  await settle(project)
  await closeProject(project)
}

function serialOf(kind: number): number {
  return 1 + exec.scenario.iterationInTest * KINDS + kind
}
