/**
 * Asks: does it stay as it is, hour after hour? A moderate mix of events and questions; latency holds
 * until the end, and the memory of the service does not grow.
 */
import exec from 'k6/execution'
import http from 'k6/http'
import { Trend } from 'k6/metrics'
import type { Options } from 'k6/options'
import { ledgerThresholds, settle } from './support/ledger.ts'
import { askAboutUser, askWhatIsSealed, sendNextBatch } from './support/mixed-load.ts'
import { closeProject, openProject, type Project } from './support/project.ts'
import { numberFrom, secondsFrom, TARGET_URL } from './support/settings.ts'

const RATE = numberFrom('RATE', 5, 10_000)
const DURATION_S = secondsFrom('DURATION', '30m', 6)
const P95_MS = numberFrom('P95_MS', 1_000, 600_000)
/** Of the resident memory, from its most in the first third to its middle in the last third. */
const GROWTH_PERCENT_MAX = numberFrom('GROWTH_PERCENT_MAX', 25, 1_000)
const SAMPLES = 30

const at = (exec: string, rate: number, vus: number, timeUnit = '1s') => ({
  ...{ executor: 'constant-arrival-rate' as const, exec, rate, timeUnit },
  ...{ duration: `${DURATION_S}s`, preAllocatedVUs: vus, maxVUs: vus },
})

export const options: Options = {
  scenarios: {
    ingest: at('sendNextBatch', RATE, 10 * RATE),
    funnels: at('askWhatIsSealed', 1, 10),
    users: at('askAboutUser', 1, 10),
    // One virtual user, so that it remembers what it saw before.
    memory: at('watchMemory', SAMPLES, 1, `${DURATION_S}s`),
  },
  thresholds: {
    ...ledgerThresholds,
    checks: ['rate==1'],
    http_req_failed: ['rate<0.0001'],
    'http_req_duration{name:ingest}': [`p(95)<${P95_MS}`],
    'http_req_duration{name:funnel}': [`p(95)<${P95_MS}`],
    'http_req_duration{name:user}': [`p(95)<${P95_MS}`],
    answer_behind: ['p(95)<15000'],
    resident_bytes: ['min>0'],
    memory_growth_percent: [`med<${GROWTH_PERCENT_MAX}`],
    dropped_iterations: [`count<=${Math.floor(0.0001 * RATE * DURATION_S)}`],
  },
  teardownTimeout: '30m',
}

const resident = new Trend('resident_bytes')
const growth = new Trend('memory_growth_percent')
let mostAtFirst = 0

export { askAboutUser, askWhatIsSealed, sendNextBatch }

export async function setup(): Promise<Project> {
  return await openProject()
}

/** Reads `/metrics`. Without that figure nothing is measured, and `resident_bytes` fails the run. */
export async function watchMemory(): Promise<void> {
  const params = { tags: { name: 'metrics' } }
  const response = await http.asyncRequest('GET', `${TARGET_URL}/metrics`, null, params)
  const match = /^process_resident_memory_bytes (\S+)$/m.exec(String(response.body))
  const bytes = Number(match?.[1] ?? 0)
  resident.add(bytes)
  if (exec.scenario.progress < 1 / 3) mostAtFirst = Math.max(mostAtFirst, bytes)
  if (exec.scenario.progress > 2 / 3) growth.add(100 * (bytes / mostAtFirst - 1))
}

export async function teardown(project: Project): Promise<void> {
  await settle(project)
  await closeProject(project)
}
