/** The life of a test, as k6 has it: init, setup, scenarios, teardown, thresholds, summary, exit code. */
import { writeFile } from 'node:fs/promises'
import type { Options } from 'k6/options'
import { durationMs } from './duration.ts'
import { loadScript } from './load-script.ts'
import { openMetrics } from './metrics.ts'
import { runScenario } from './run-scenario.ts'
import { parseScenarios, type ScenarioPlan } from './scenarios.ts'
import { summaryData, summaryText, type Summary } from './summary.ts'
import { evaluate, parseThresholds, type MetricThreshold } from './thresholds.ts'
import { openVirtualUser, type Run, type VirtualUser } from './virtual-user.ts'

/** The exit codes of k6 that this runner has. */
export const EXIT = {
  ok: 0,
  thresholdsFailed: 99,
  setupTimeout: 100,
  teardownTimeout: 101,
  invalidConfig: 104,
  externalAbort: 105,
  scriptException: 107,
} as const

const THRESHOLDS_EVERY_MS = 2_000
const VUS_EVERY_MS = 1_000
const STAGE_TIMEOUT = '60s'

type Code = (typeof EXIT)[keyof typeof EXIT]

class RunError extends Error {
  readonly code: Code
  constructor(code: Code, message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** What a script may be run with. */
export interface RunOptions {
  readonly environment: Readonly<Record<string, string>>
  readonly print: (text: string) => void
  readonly printError: (text: string) => void
  /** Ends the run early; its teardown is still done. */
  readonly stop: AbortSignal
}

/** Runs a k6 script in this process and returns the exit code that k6 would end with. */
export async function runScript(path: string, options: RunOptions): Promise<Code> {
  const startedMs = performance.now()
  const nowMs = () => performance.now()
  try {
    const run: Run = {
      script: await attempt(EXIT.scriptException, () => loadScript(path)),
      ...{ metrics: openMetrics(), checks: new Map(), tags: {} },
      environment: options.environment,
      vus: { active: 0, allocated: 0 },
      ...{ nowMs, startedMs, warn: (line) => options.printError(line) },
    }
    return await runTest(run, options)
  } catch (error) {
    if (!(error instanceof RunError)) throw error
    options.printError(described(error))
    return error.code
  }
}

async function runTest(run: Run, options: RunOptions): Promise<Code> {
  const steward = await attempt(EXIT.scriptException, () => openVirtualUser(run, 0))
  const script = (steward.exports['options'] ?? {}) as Options
  run.tags = script.tags ?? {}
  const { plans, thresholds } = await attempt(EXIT.invalidConfig, () => {
    const plans = parseScenarios(script.scenarios)
    for (const { exec } of plans)
      if (typeof steward.exports[exec] !== 'function') throw new Error(`no function ${exec}`)
    return { plans, thresholds: parseThresholds(script.thresholds, run.metrics) }
  })
  const setupData = await stage(steward, 'setup', script.setupTimeout, undefined)
  const cut = await runScenarios(run, { plans, thresholds, setupData, stop: options.stop })
  // A steward of its own: one that was interrupted in setup would do nothing.
  const last = await attempt(EXIT.scriptException, () => openVirtualUser(run, 0))
  let code: Code = cut
  try {
    await stage(last, 'teardown', script.teardownTimeout, JSON.parse(setupData))
  } catch (error) {
    if (!(error instanceof RunError)) throw error
    options.printError(described(error))
    code = error.code
  }
  const elapsedMs = run.nowMs() - run.startedMs
  evaluate(thresholds, elapsedMs, true)
  const { metrics, checks } = run
  await summarize({ metrics, checks, thresholds, elapsedMs }, last, options)
  const isBroken = thresholds.some((threshold) => threshold.isBroken)
  return code === EXIT.ok && isBroken ? EXIT.thresholdsFailed : code
}

/** Runs all scenarios side by side, under the thresholds. Returns why they were cut short, or `ok`. */
async function runScenarios(
  run: Run,
  work: {
    readonly plans: readonly ScenarioPlan[]
    readonly thresholds: MetricThreshold[]
    readonly setupData: string
    readonly stop: AbortSignal
  },
): Promise<Code> {
  const broken = new AbortController()
  const stop = AbortSignal.any([work.stop, broken.signal])
  const users = await attempt(EXIT.scriptException, () =>
    work.plans.map((plan) =>
      Array.from({ length: plan.vusBefore }, () => openVirtualUser(run, ++run.vus.allocated, plan)),
    ),
  )
  const evaluating = setInterval(() => {
    const { mustAbort } = evaluate(work.thresholds, run.nowMs() - run.startedMs, false)
    if (mustAbort) broken.abort()
  }, THRESHOLDS_EVERY_MS)
  const counting = setInterval(() => {
    run.metrics.add('vus', run.vus.active, run.tags)
    run.metrics.add('vus_max', run.vus.allocated, run.tags)
  }, VUS_EVERY_MS)
  try {
    const { setupData } = work
    await Promise.all(
      work.plans.map((plan, index) => runScenario(plan, users[index]!, { run, setupData, stop })),
    )
  } finally {
    clearInterval(evaluating)
    clearInterval(counting)
  }
  if (work.stop.aborted) return EXIT.externalAbort
  return broken.signal.aborted ? EXIT.thresholdsFailed : EXIT.ok
}

/** Runs setup or teardown, where there is one, within its time. Returns what it returned, as JSON. */
async function stage(
  user: VirtualUser,
  name: 'setup' | 'teardown',
  timeout: string | undefined,
  data: unknown,
): Promise<string> {
  const work = user.exports[name] as ((data: unknown) => unknown) | undefined
  if (work === undefined) return 'null'
  user.group = `::${name}`
  const timeoutMs = durationMs(timeout ?? STAGE_TIMEOUT)
  let timer: NodeJS.Timeout | undefined
  const overtime = new Promise<never>((_, reject) => {
    const code = name === 'setup' ? EXIT.setupTimeout : EXIT.teardownTimeout
    const error = new RunError(code, `${name} took over ${timeoutMs} ms`)
    timer = setTimeout(() => reject(error), timeoutMs)
  })
  try {
    const result = attempt(EXIT.scriptException, async () => await work(data), `${name} failed`)
    return JSON.stringify((await Promise.race([result, overtime])) ?? null)
  } finally {
    clearTimeout(timer)
    user.interrupt()
  }
}

/** Prints the end of the test, or what the script's `handleSummary` makes of it. */
async function summarize(summary: Summary, user: VirtualUser, options: RunOptions): Promise<void> {
  const handle = user.exports['handleSummary'] as ((data: unknown) => unknown) | undefined
  if (handle === undefined) {
    options.print(summaryText(summary))
    return
  }
  const outputs = (await handle(summaryData(summary))) as Record<string, string>
  for (const [place, text] of Object.entries(outputs))
    if (place === 'stdout') options.print(text)
    else if (place === 'stderr') options.printError(text)
    else await writeFile(place, text)
}

async function attempt<T>(code: Code, work: () => T | Promise<T>, said = 'the script failed') {
  try {
    return await work()
  } catch (error) {
    throw error instanceof RunError ? error : new RunError(code, said, error)
  }
}

function described({ message, cause }: RunError): string {
  return cause instanceof Error ? `${message}: ${cause.stack}` : message
}
