import { setTimeout as delay } from 'node:timers/promises'
import type { ScenarioPlan } from './scenarios.ts'
import { openVirtualUser, type Run, type VirtualUser } from './virtual-user.ts'

/**
 * Runs one scenario to its end, or until `stop`. An iteration starts when it is due, whatever became of
 * those before: on a virtual user that is free, else on a new one, else it is dropped and counted. Those
 * still running at the end have `gracefulStop`; then they are interrupted. Never rejects.
 */
export async function runScenario(
  plan: ScenarioPlan,
  users: readonly VirtualUser[],
  options: { readonly run: Run; readonly setupData: string; readonly stop: AbortSignal },
): Promise<void> {
  const { run, setupData, stop } = options
  if (!(await wait(plan.startTimeMs, stop))) return
  const scenarioStartedMs = Date.now()
  const beganMs = run.nowMs()
  const idle = [...users]
  const busy = new Map<VirtualUser, Promise<void>>()
  let iterationInTest = 0

  const freeUser = (): VirtualUser | undefined => {
    if (idle.length > 0 || idle.length + busy.size >= plan.vusMax) return idle.pop()
    return openVirtualUser(run, ++run.vus.allocated, plan)
  }

  for (const dueMs of plan.starts()) {
    if (!(await wait(beganMs + dueMs - run.nowMs(), stop))) break
    const user = freeUser()
    if (user === undefined) {
      run.metrics.add('dropped_iterations', 1, { ...run.tags, ...plan.tags, scenario: plan.name })
      continue
    }
    user.place = { plan, scenarioStartedMs, iterationInTest: iterationInTest++ }
    const done = iterate(user, plan.exec, setupData).then(() => {
      busy.delete(user)
      idle.push(user)
    })
    busy.set(user, done)
  }
  await wait(beganMs + plan.lengthMs - run.nowMs(), stop)
  await finish(busy, plan.gracefulStopMs, stop)
}

async function iterate(user: VirtualUser, exec: string, setupData: string): Promise<void> {
  const { run } = user
  const startedMs = run.nowMs()
  run.vus.active++
  try {
    await (user.exports[exec] as (data: unknown) => unknown)(JSON.parse(setupData))
  } catch (error) {
    // As in k6: it ends the iteration, and the next one begins.
    if (!user.interrupted.aborted) run.warn((error as Error).stack ?? String(error))
  } finally {
    run.vus.active--
    user.iterationInInstance++
    user.emit('iteration_duration', run.nowMs() - startedMs)
    user.emit('iterations', 1)
  }
}

async function finish(
  busy: ReadonlyMap<VirtualUser, Promise<void>>,
  gracefulStopMs: number,
  stop: AbortSignal,
): Promise<void> {
  const isDone = new AbortController()
  const all = Promise.all(busy.values()).then(() => isDone.abort())
  await wait(gracefulStopMs, AbortSignal.any([stop, isDone.signal]))
  for (const user of busy.keys()) user.interrupt()
  if (busy.size === 0) await all
}

/** Waits so many milliseconds, or not at all; false when it was stopped instead. */
async function wait(ms: number, stop: AbortSignal): Promise<boolean> {
  if (stop.aborted) return false
  if (ms <= 0) return true
  try {
    // Timers drop fractions; an iteration is not to start before it is due.
    await delay(Math.ceil(ms), undefined, { signal: stop })
    return true
  } catch {
    // Nothing but the stop makes a timer reject.
    return false
  }
}
