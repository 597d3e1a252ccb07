/** Asks: at RATE batches a second, of BATCH_USERS users each, is everything accepted, in time, and stored? */
import exec from 'k6/execution'
import type { Options } from 'k6/options'
import { journeys } from './support/journeys.ts'
import { ledgerThresholds, settle } from './support/ledger.ts'
import { closeProject, openProject, type Project } from './support/project.ts'
import { sendEvents } from './support/send-events.ts'
import { numberFrom, secondsFrom } from './support/settings.ts'

const RATE = numberFrom('RATE', 20, 10_000)
/** 50 users are 94 events; a request takes up to 1,000. */
const BATCH_USERS = numberFrom('BATCH_USERS', 50, 500)
const DURATION_S = secondsFrom('DURATION', '60s', 3)
const P95_MS = numberFrom('P95_MS', 500, 600_000)
const P99_MS = numberFrom('P99_MS', 1_500, 600_000)
const VUS = numberFrom('VUS', 5 * RATE, 10_000)
const RAMP_S = Math.floor(DURATION_S / 3)

export const options: Options = {
  scenarios: {
    ingest: {
      executor: 'ramping-arrival-rate',
      exec: 'sendBatch',
      startRate: Math.ceil(RATE / 10),
      stages: [
        { target: RATE, duration: `${RAMP_S}s` },
        { target: RATE, duration: `${DURATION_S - RAMP_S}s` },
      ],
      preAllocatedVUs: VUS,
      maxVUs: VUS,
    },
  },
  thresholds: {
    ...ledgerThresholds,
    checks: ['rate==1'],
    http_req_failed: [
      'rate<0.001',
      // Nothing is learnt from going on against a service that is away.
      { threshold: 'rate<0.5', abortOnFail: true, delayAbortEval: '10s' },
    ],
    'http_req_duration{name:ingest}': [`p(95)<${P95_MS}`, `p(99)<${P99_MS}`],
    // Else k6 could not keep up, and the figures flatter the service.
    dropped_iterations: ['count==0'],
  },
  teardownTimeout: '15m',
}

export async function setup(): Promise<Project> {
  return await openProject()
}

export async function sendBatch(project: Project): Promise<void> {
  const first = exec.scenario.iterationInTest * BATCH_USERS
  await sendEvents(project, journeys(project, first, BATCH_USERS))
}

export async function teardown(project: Project): Promise<void> {
  await settle(project)
  await closeProject(project)
}
