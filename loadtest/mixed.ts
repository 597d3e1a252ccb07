/** Asks: do events and questions get along? RATE batches a second, and beside them funnels and timelines. */
import type { Options } from 'k6/options'
import { ledgerThresholds, settle } from './support/ledger.ts'
import { askAboutUser, askWhatIsSealed, sendNextBatch } from './support/mixed-load.ts'
import { closeProject, openProject, type Project } from './support/project.ts'
import { numberFrom, secondsFrom } from './support/settings.ts'

const RATE = numberFrom('RATE', 10, 10_000)
const QUESTION_RATE = numberFrom('QUESTION_RATE', 1, 1_000)
const DURATION = `${secondsFrom('DURATION', '60s', 1)}s`
const P95_MS = numberFrom('P95_MS', 1_000, 600_000)

const at = (exec: string, rate: number) => ({
  ...{ executor: 'constant-arrival-rate' as const, exec, rate, duration: DURATION },
  ...{ preAllocatedVUs: 10 * rate, maxVUs: 10 * rate },
})

export const options: Options = {
  scenarios: {
    ingest: at('sendNextBatch', RATE),
    funnels: at('askWhatIsSealed', QUESTION_RATE),
    users: at('askAboutUser', QUESTION_RATE),
  },
  thresholds: {
    ...ledgerThresholds,
    checks: ['rate==1'],
    http_req_failed: ['rate<0.001'],
    'http_req_duration{name:ingest}': [`p(95)<${P95_MS}`],
    'http_req_duration{name:funnel}': [`p(95)<${P95_MS}`],
    'http_req_duration{name:user}': [`p(95)<${P95_MS}`],
    // Sealing keeps up: answers are seconds behind, not minutes.
    answer_behind: ['p(95)<15000'],
    dropped_iterations: ['count==0'],
  },
  teardownTimeout: '15m',
}

export { askAboutUser, askWhatIsSealed, sendNextBatch }

export async function setup(): Promise<Project> {
  return await openProject()
}

export async function teardown(project: Project): Promise<void> {
  await settle(project)
  await closeProject(project)
}
