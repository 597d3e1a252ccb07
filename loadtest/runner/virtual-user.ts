import type { Script, ScriptExports } from './load-script.ts'
import { k6Modules } from './k6-modules.ts'
import type { Metrics, Tags } from './metrics.ts'
import type { ScenarioPlan } from './scenarios.ts'

/** What the virtual users of one run share. */
export interface Run {
  readonly script: Script
  readonly metrics: Metrics
  readonly checks: Map<string, { passes: number; fails: number }>
  readonly environment: Readonly<Record<string, string>>
  /** On everything that is measured: the `tags` of the options. */
  tags: Tags
  readonly vus: { active: number; allocated: number }
  readonly nowMs: () => number
  readonly startedMs: number
  readonly warn: (line: string) => void
}

/** Where a virtual user is in its work: what `k6/execution` tells. */
export interface Place {
  readonly plan: ScenarioPlan
  readonly scenarioStartedMs: number
  /** Of the scenario, over all its virtual users; from 0. */
  readonly iterationInTest: number
}

export interface VirtualUser {
  readonly id: number
  readonly run: Run
  readonly exports: ScriptExports
  place: Place | null
  iterationInInstance: number
  group: string
  readonly tags: Tags
  /** Ends what is under way; nothing of it is measured, and it never comes back. */
  interrupt(): void
  readonly interrupted: AbortSignal
  /** Measures a value, with the tags of where this user is. Nothing once it is interrupted. */
  emit(metric: string, value: number, tags?: Tags): void
}

/** Runs the script's top level for one virtual user; number 0 does set-up and teardown. Throws what that throws. */
export function openVirtualUser(run: Run, id: number, plan?: ScenarioPlan): VirtualUser {
  const interruption = new AbortController()
  const environment = { ...run.environment }
  const state = {
    ...{ id, run, place: null, iterationInInstance: 0, group: '' },
    tags: plan === undefined ? run.tags : { ...run.tags, ...plan.tags, scenario: plan.name },
    interrupted: interruption.signal,
    interrupt: () => interruption.abort(),
    emit(metric: string, value: number, tags: Tags = {}): void {
      if (interruption.signal.aborted) return
      run.metrics.add(metric, value, { ...user.tags, group: user.group, ...tags })
    },
  }
  const user: VirtualUser = Object.assign(state, { exports: {} as ScriptExports })
  const modules = k6Modules(user)
  const require = (name: string): unknown => {
    const found = modules[name]
    if (found === undefined) throw new Error(`this runner has no ${name}`)
    return { __esModule: true, default: found, ...found }
  }
  Object.assign(user, { exports: run.script(require, environment) })
  Object.assign(environment, plan?.environment)
  return user
}
