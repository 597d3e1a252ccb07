import process from 'node:process'
import { systemClock as clock } from '../src/clock.ts'
import { DAY_MS } from '../src/event/day.ts'
import { ask, freshSteps, median, rounded } from './ask.ts'
import { DAYS, EVENT_NAMES, makeDataSet } from './data-set.ts'
import { loadAndSeal } from './load-and-seal.ts'
import { startServeProcess } from './serve-process.ts'
import {
  makeProject,
  memoryMb,
  startServiceProcess,
  type ServiceProcess,
} from './service-process.ts'

// Asks: does a funnel over ten times the users take ten times as long? One service, one project after the
// other; each is asked by a process that has just started.

const SEED = 7
const SHARES = [0.1, 0.3, 1] as const
const WARM_ASKS = 3

export async function growth() {
  const usersMax = Number(process.env['USERS_MAX'] ?? 10_000_000)
  const service = await startServiceProcess({ LOG_LEVEL: 'warn' })
  try {
    const sizes = []
    for (const share of SHARES) {
      sizes.push(await measure(service, Math.round(usersMax * share)))
      console.log(JSON.stringify(sizes.at(-1)))
    }
    const linearity = sizes.at(-1)!.warmNsPerEvent / sizes[0]!.warmNsPerEvent
    return { bench: 'growth', linearity: rounded(linearity, 2), sizes }
  } finally {
    await service.close()
  }
}

async function measure(service: ServiceProcess, users: number) {
  const startMs = Math.floor(clock.nowMs() / DAY_MS) * DAY_MS - (DAYS + 1) * DAY_MS
  const { id, readKey } = await makeProject(service)
  const dataSet = makeDataSet({ userCount: users, seed: SEED, startMs })
  const { events, sealedS, mergedS } = await loadAndSeal(service, id, dataSet)
  const fresh = await startServeProcess(service, { SEALING: 'off' })
  try {
    const askPlain = () =>
      ask(fresh.url, readKey, {
        ...{ steps: freshSteps(EVENT_NAMES), window: '7d', rangeBounds: 'all' },
        ...{ from: startMs, to: startMs + DAYS * DAY_MS },
      })
    const cold = await askPlain()
    const warmMs: number[] = []
    for (let index = 0; index < WARM_ASKS; index++) warmMs.push((await askPlain()).ms)
    return {
      ...{ users, events, sealedS: rounded(sealedS, 1), mergedS: rounded(mergedS, 1) },
      ...{ coldMs: rounded(cold.ms), warmMs: rounded(median(warmMs), 1) },
      coldNsPerEvent: rounded((cold.ms * 1e6) / events, 1),
      warmNsPerEvent: rounded((median(warmMs) * 1e6) / events, 1),
      partitions: cold.answer.read['partitions'],
      peakMb: rounded((await memoryMb(fresh.pid)).peakMb),
    }
  } finally {
    await fresh.close()
  }
}
