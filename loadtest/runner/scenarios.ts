import type { Options, Scenario, Stage as ScriptStage } from 'k6/options'
import { durationMs } from './duration.ts'
import { constantStarts, rampingStarts } from './schedule.ts'

const GRACEFUL_STOP = '30s'

/** A scenario of a script, with k6's defaults filled in; times in milliseconds. */
export interface ScenarioPlan {
  readonly name: string
  readonly executor: string
  /** The exported function that is one iteration. */
  readonly exec: string
  readonly startTimeMs: number
  readonly lengthMs: number
  readonly gracefulStopMs: number
  readonly vusBefore: number
  readonly vusMax: number
  readonly environment: Readonly<Record<string, string>>
  readonly tags: Readonly<Record<string, string>>
  /** When iterations are due, since the scenario began, in order. */
  readonly starts: () => Iterable<number>
}

/** The scenarios of a script's options. Throws at what k6 would refuse, and at executors that are not mapped. */
export function parseScenarios(scenarios: Options['scenarios'] = {}): ScenarioPlan[] {
  const plans = Object.entries(scenarios).map(([name, scenario]) => {
    try {
      return parseScenario(name, scenario)
    } catch (error) {
      throw new Error(`the scenario ${name} is wrong: ${(error as Error).message}`)
    }
  })
  if (plans.length === 0) throw new Error('the options have no scenarios')
  return plans
}

function parseScenario(name: string, scenario: Scenario): ScenarioPlan {
  if (scenario.executor !== 'constant-arrival-rate' && scenario.executor !== 'ramping-arrival-rate')
    throw new Error(`this runner has no executor ${scenario.executor}, only arrival rates`)
  const { preAllocatedVUs, maxVUs = preAllocatedVUs, timeUnit = '1s' } = scenario
  count('preAllocatedVUs', preAllocatedVUs, 0)
  if (count('maxVUs', maxVUs, 1) < preAllocatedVUs)
    throw new Error('maxVUs is less than preAllocatedVUs')
  return {
    ...{ name, executor: scenario.executor, exec: scenario.exec ?? 'default' },
    startTimeMs: durationMs(scenario.startTime ?? 0),
    gracefulStopMs: durationMs(scenario.gracefulStop ?? GRACEFUL_STOP),
    vusBefore: preAllocatedVUs,
    vusMax: maxVUs,
    environment: scenario.env ?? {},
    tags: scenario.tags ?? {},
    ...(scenario.executor === 'constant-arrival-rate'
      ? constant(scenario.rate, durationMs(timeUnit), durationMs(scenario.duration))
      : ramping(scenario.startRate ?? 0, durationMs(timeUnit), scenario.stages)),
  }
}

function constant(rate: number, timeUnitMs: number, lengthMs: number) {
  count('rate', rate, 1)
  const starts = () => constantStarts({ rate, timeUnitMs, durationMs: lengthMs })
  return { lengthMs, starts }
}

function ramping(startRate: number, timeUnitMs: number, list: readonly ScriptStage[]) {
  count('startRate', startRate, 0)
  const stages = list.map(({ duration, target }) => ({
    durationMs: durationMs(duration),
    target: count('target', target, 0),
  }))
  const lengthMs = stages.reduce((sum, stage) => sum + stage.durationMs, 0)
  return { lengthMs, starts: () => rampingStarts({ startRate, timeUnitMs, stages }) }
}

function count(name: string, value: number, least: number): number {
  if (!Number.isInteger(value) || value < least)
    throw new Error(`${name} is ${value}, and must be a whole number from ${least}`)
  return value
}
