import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock as clock } from '../src/clock.ts'
import { DAY_MS } from '../src/event/day.ts'
import { ask, freshSteps, largest, median, rounded, type Answer } from './ask.ts'
import { untilMerged } from './load-and-seal.ts'
import { askManyProjects } from './many-projects.ts'
import { openStoresOf } from './open-stores.ts'
import { postAll, type PostedEvent } from './post-events.ts'
import { startServeProcess } from './serve-process.ts'
import { makeProject, startServiceProcess, type ServiceProcess } from './service-process.ts'
import { sealedEventsOf, statementsOf, statementsPerSecond } from './statements.ts'

// Asks: what do small projects cost, where the fixed costs of a question and of sealing are most of it?
// One of a few names, one of a thousand names, and many projects at once.

const DAYS = 90
const COLD_ROUNDS = 5
const WARM_ASKS = 20
const POLL_MS = 100
const KINDS = {
  few: { events: 100_000, users: 8_000, names: 60 },
  thousandNames: { events: 200_000, users: 8_000, names: 1_000 },
} as const

interface Kind {
  readonly events: number
  readonly users: number
  readonly names: number
}

export async function small() {
  const share = Number(process.env['SHARE'] ?? 1)
  const service = await startServiceProcess({ LOG_LEVEL: 'warn' })
  try {
    const results: Record<string, Awaited<ReturnType<typeof measure>>> = {}
    for (const [name, kind] of Object.entries(KINDS)) {
      const events = Math.round(kind.events * share)
      results[name] = await measure(service, { ...kind, events })
      console.log(name, JSON.stringify(results[name]))
    }
    const many = await askManyProjects(service, {
      projects: Number(process.env['PROJECTS'] ?? 1_000),
      eventsPerSecond: Number(process.env['RATE'] ?? 1),
      seconds: Number(process.env['SECONDS'] ?? 60),
    })
    return { bench: 'small', ...results, many }
  } finally {
    await service.close()
  }
}

async function measure(service: ServiceProcess, kind: Kind) {
  const { id: projectId, writeKey, readKey } = await makeProject(service)
  const startMs = Math.floor(clock.nowMs() / DAY_MS) * DAY_MS - DAYS * DAY_MS
  const before = await statementsOf(service.url)
  const sealedBefore = await sealedEventsOf(service.url)
  const startedMs = clock.monotonicMs()
  const posted = await postAll(service.url, writeKey, {
    count: kind.events,
    eventOf: (index) => eventOf(kind, startMs, index),
  })
  while ((await sealedEventsOf(service.url)) < sealedBefore + kind.events) await sleep(POLL_MS)
  const after = await statementsOf(service.url)
  const sealedS = (clock.monotonicMs() - startedMs) / 1_000
  const { stores, close } = await openStoresOf(service)
  const { mergedMs } = await untilMerged({ stores, projectId, isSealed: () => true }).finally(close)

  const cold: Asked[] = []
  const warmMs: number[] = []
  for (let round = 0; round < COLD_ROUNDS; round++) {
    const fresh = await startServeProcess(service, { SEALING: 'off' })
    try {
      cold.push(await askThree(fresh.url, readKey, startMs))
      const asks = Math.ceil(WARM_ASKS / COLD_ROUNDS)
      for (let index = 0; index < asks; index++)
        warmMs.push((await askThree(fresh.url, readKey, startMs)).ms)
    } finally {
      await fresh.close()
    }
  }
  return {
    ...kind,
    ...{ postedS: rounded(posted.tookS, 1), sealedS: rounded(sealedS, 1) },
    mergedS: rounded(sealedS + mergedMs / 1_000, 1),
    ...{ coldMs: rounded(median(cold.map(({ ms }) => ms)), 1), warmMs: rounded(median(warmMs), 1) },
    coldMaxMs: rounded(largest(cold.map(({ ms }) => ms)), 1),
    read: cold[0]!.answer.read,
    counts: cold[0]!.answer.steps.map(({ users }) => users),
    statementsPerSecond: statementsPerSecond(before, after, sealedS),
  }
}

interface Asked {
  readonly answer: Answer
  readonly ms: number
}

async function askThree(url: string, key: string, startMs: number): Promise<Asked> {
  return await ask(url, key, {
    ...{ steps: freshSteps(['name 0', 'name 1', 'name 2']), window: '14d' },
    ...{ from: startMs, to: startMs + DAYS * DAY_MS },
  })
}

/** In time order; the n-th name about as often as 1/n. */
function eventOf({ events, users, names }: Kind, startMs: number, index: number): PostedEvent {
  const share = ((index * 7_919) % 10_007) / 10_007
  const name = Math.min(names - 1, Math.floor((names + 1) ** share) - 1)
  return {
    id: `id ${index}`,
    event: `name ${name}`,
    userId: (index * 4_517) % users,
    time: startMs + Math.floor((index * DAYS * DAY_MS) / events),
    properties: { path: `/page/${index % 50}`, country: COUNTRIES[index % COUNTRIES.length]! },
  }
}

const COUNTRIES = ['DE', 'US', 'FR', 'GB', 'IN'] as const
