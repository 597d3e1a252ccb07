/**
 * Asks: what does ten times the load for SPIKE do, and is it over when it is over? While it lasts and
 * shortly after, 503 with Retry-After is a right answer; an acknowledged event is stored even then. Once
 * it is over, everything is as before.
 */
import { check } from 'k6'
import exec from 'k6/execution'
import http from 'k6/http'
import type { Options } from 'k6/options'
import { journeys } from './support/journeys.ts'
import { ledgerThresholds, settle } from './support/ledger.ts'
import { closeProject, openProject, type Project } from './support/project.ts'
import { sendEvents } from './support/send-events.ts'
import { numberFrom, secondsFrom } from './support/settings.ts'

const RATE = numberFrom('RATE', 10, 1_000)
const FACTOR = numberFrom('FACTOR', 10, 1_000)
const CALM_S = secondsFrom('CALM', '20s', 1)
const SPIKE_S = secondsFrom('SPIKE', '30s', 1)
/** How long the service has to get over it. */
const SETTLE_S = secondsFrom('SETTLE', '15s', 1)
const P95_MS = numberFrom('P95_MS', 500, 600_000)
const BATCH_USERS = 50

const PHASES = ['before', 'spike', 'settling', 'recovered']
const USERS_PER_PHASE = 200_000_000
const MAY_SHED = ['spike', 'settling']

const at = (startS: number, lengthS: number, rate: number, vus: number) => ({
  ...{ executor: 'constant-arrival-rate' as const, exec: 'sendBatch', rate },
  ...{ startTime: `${startS}s`, duration: `${lengthS}s`, preAllocatedVUs: vus, maxVUs: vus },
})
const spikeEndS = CALM_S + SPIKE_S

export const options: Options = {
  scenarios: {
    before: at(0, CALM_S, RATE, 5 * RATE),
    spike: at(CALM_S, SPIKE_S, FACTOR * RATE, 5 * FACTOR * RATE),
    settling: at(spikeEndS, SETTLE_S, RATE, 20 * RATE),
    recovered: at(spikeEndS + SETTLE_S, CALM_S, RATE, 5 * RATE),
  },
  thresholds: {
    ...ledgerThresholds,
    checks: ['rate==1'],
    'http_req_failed{scenario:before}': ['rate==0'],
    // Of requests that were neither taken nor refused as overload should be: timeouts, resets, 500.
    'http_req_failed{scenario:spike}': ['rate<0.01'],
    'http_req_failed{scenario:settling}': ['rate<0.01'],
    'http_req_failed{scenario:recovered}': ['rate==0'],
    'http_req_duration{scenario:before}': [`p(95)<${P95_MS}`],
    'http_req_duration{scenario:recovered}': [`p(95)<${P95_MS}`],
    'dropped_iterations{scenario:before}': ['count==0'],
    'dropped_iterations{scenario:spike}': [`count<=${Math.ceil(0.01 * FACTOR * RATE * SPIKE_S)}`],
    'dropped_iterations{scenario:recovered}': ['count==0'],
  },
  teardownTimeout: '15m',
}

const success = http.expectedStatuses(200)
const successOrShed = http.expectedStatuses(200, 503)

export async function setup(): Promise<Project> {
  return await openProject()
}

export async function sendBatch(project: Project): Promise<void> {
  const { name, iterationInTest } = exec.scenario
  http.setResponseCallback(MAY_SHED.includes(name) ? successOrShed : success)
  const first = PHASES.indexOf(name) * USERS_PER_PHASE + iterationInTest * BATCH_USERS
  const { response } = await sendEvents(project, journeys(project, first, BATCH_USERS))
  if (response.status === 503)
    check(response, {
      'a 503 says when to come back': ({ headers }) => Number(headers['Retry-After']) >= 1,
    })
}

export async function teardown(project: Project): Promise<void> {
  await settle(project)
  await closeProject(project)
}
