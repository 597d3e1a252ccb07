import { setTimeout as delay } from 'node:timers/promises'
import { httpModule } from './http.ts'
import type { Tags } from './metrics.ts'
import type { MetricType } from './sinks.ts'
import type { VirtualUser } from './virtual-user.ts'

type K6Module = Record<string, unknown>

/** The modules that a script of this virtual user may import. */
export function k6Modules(user: VirtualUser): Record<string, K6Module> {
  return {
    k6: coreModule(user),
    'k6/http': httpModule(user),
    'k6/metrics': metricsModule(user),
    'k6/execution': executionModule(user),
  }
}

function coreModule(user: VirtualUser): K6Module {
  function check(value: unknown, claims: Record<string, unknown>, tags: Tags = {}): boolean {
    let isAllTrue = true
    for (const [name, claim] of Object.entries(claims)) {
      const isTrue = Boolean(typeof claim === 'function' ? claim(value) : claim)
      isAllTrue &&= isTrue
      if (user.interrupted.aborted) continue
      user.emit('checks', Number(isTrue), { check: name, ...tags })
      const counts = user.run.checks.get(name) ?? { passes: 0, fails: 0 }
      counts[isTrue ? 'passes' : 'fails']++
      user.run.checks.set(name, counts)
    }
    return isAllTrue
  }

  function group<T>(name: string, work: () => T): T {
    const around = user.group
    const startedMs = user.run.nowMs()
    user.group = `${around}::${name}`
    try {
      return work()
    } finally {
      user.emit('group_duration', user.run.nowMs() - startedMs)
      user.group = around
    }
  }

  return {
    check,
    group,
    fail(reason = 'failed'): never {
      throw new Error(reason)
    },
    /** k6 blocks; here the others would stand still too. A script that awaits it sleeps in both. */
    sleep: (seconds: number) => delay(seconds * 1_000),
  }
}

function metricsModule(user: VirtualUser): K6Module {
  const declarer = (type: MetricType) =>
    function (this: object, name: string, isTime = false) {
      user.run.metrics.declare(name, type, isTime ? 'time' : 'default')
      return {
        name,
        add: (value: number | boolean, tags?: Tags) => user.emit(name, Number(value), tags),
      }
    }
  return {
    Counter: declarer('counter'),
    Gauge: declarer('gauge'),
    Rate: declarer('rate'),
    Trend: declarer('trend'),
  }
}

function executionModule(user: VirtualUser): K6Module {
  function place() {
    if (user.place === null) throw new Error('there is no scenario in set-up and teardown')
    return user.place
  }
  const scenario = {
    get name() {
      return place().plan.name
    },
    get executor() {
      return place().plan.executor
    },
    get iterationInTest() {
      return place().iterationInTest
    },
    get iterationInInstance() {
      return place().iterationInTest
    },
    /** Milliseconds since 1970. */
    get startTime() {
      return place().scenarioStartedMs
    },
    get progress() {
      const { plan, scenarioStartedMs } = place()
      return Math.min(1, (Date.now() - scenarioStartedMs) / plan.lengthMs)
    },
  }
  const vu = {
    idInTest: user.id,
    idInInstance: user.id,
    get iterationInInstance() {
      return user.iterationInInstance
    },
  }
  return { scenario, vu }
}
