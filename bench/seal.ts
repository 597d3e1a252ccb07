import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock as clock } from '../src/clock.ts'
import { DAY_MS } from '../src/event/day.ts'
import { ask, freshSteps, largest, median, quantile, rounded, untilAsOf } from './ask.ts'
import { makeDataSet } from './data-set.ts'
import { runLoad } from './ingest.ts'
import { loadBlocks } from './load-blocks.ts'
import { openStoresOf } from './open-stores.ts'
import { postBatch } from './post-events.ts'
import { sealOnce } from './seal-process.ts'
import { makeProject, memoryMb, startServiceProcess } from './service-process.ts'

// Asks: how fast are waiting events sealed, how far behind is sealing while events come as fast as they are
// taken, and how soon is one event counted?

const SEED = 7
const FUNNEL = ['page_view', 'add_to_cart', 'purchase'] as const
const WARM_UP_S = 10
const ASK_EVERY_MS = 1_000
const FRESH_POLL_MS = 20
const FRESH_TIMEOUT_MS = 60_000

export async function seal() {
  const userCount = Number(process.env['USERS'] ?? 1_000_000)
  const loadS = Number(process.env['SECONDS'] ?? 60)
  const rounds = Number(process.env['ROUNDS'] ?? 50)
  const waiting = await sealWaiting(userCount)
  console.log(JSON.stringify(waiting))
  const service = await startServiceProcess({ CASSANDRA_HEAP_MB: '2048', LOG_LEVEL: 'warn' })
  try {
    const quiet = await makeProject(service)
    const freshness = await timeFreshness(service.url, quiet, rounds)
    console.log(JSON.stringify(freshness))
    const busy = await makeProject(service)
    const underLoad = await sealUnderLoad(service.url, busy, loadS)
    const servicePeakMb = rounded((await memoryMb(service.pid)).peakMb)
    return { bench: 'seal', waiting, underLoad: { ...underLoad, servicePeakMb }, freshness }
  } finally {
    await service.close()
  }
}

/** Seals blocks that wait, in a process of its own; merges included. */
async function sealWaiting(userCount: number) {
  const startMs = Math.floor(clock.nowMs() / DAY_MS) * DAY_MS - 31 * DAY_MS
  const dataSet = makeDataSet({ userCount, seed: SEED, startMs })
  const service = await startServiceProcess({ SEALING: 'off', LOG_LEVEL: 'warn' })
  try {
    const { id: projectId } = await makeProject(service)
    const { stores, close } = await openStoresOf(service)
    await loadBlocks({ stores, projectId, dataSet, clock }).finally(close)
    const { events, tookMs, cpuMs, peakMb } = await sealOnce(service)
    if (events !== dataSet.eventCount) throw new Error(`sealed ${events} events`)
    // What it takes to find that nothing waits: start, connections, end.
    const idle = await sealOnce(service)
    return {
      events,
      eventsPerSecond: Math.round((events * 1_000) / tookMs),
      cpuUsPerEvent: rounded((cpuMs * 1_000) / events, 2),
      ...{ tookS: rounded(tookMs / 1_000, 1), peakMb: rounded(peakMb) },
      idle: { tookS: rounded(idle.tookMs / 1_000, 1), cpuS: rounded(idle.cpuMs / 1_000, 2) },
    }
  } finally {
    await service.close()
  }
}

interface Keys {
  readonly writeKey: string
  readonly readKey: string
}

/** Events come as fast as they are taken, while a funnel is asked every second, one at a time. */
async function sealUnderLoad(url: string, { writeKey, readKey }: Keys, seconds: number) {
  await runLoad(url, writeKey, Math.min(WARM_UP_S, seconds))
  const tookMs: number[] = []
  const lagMs: number[] = []
  let failed = 0
  let isOver = false
  async function askOn(): Promise<void> {
    for (let dueMs = clock.monotonicMs(); !isOver; dueMs += ASK_EVERY_MS) {
      await sleep(Math.max(0, dueMs - clock.monotonicMs()))
      const asked = await ask(url, readKey, { steps: freshSteps(FUNNEL), window: '7d' }).catch(
        (error: unknown) => {
          console.log(`no answer: ${String(error)}`)
          return null
        },
      )
      if (asked === null) failed++
      else {
        tookMs.push(asked.ms)
        lagMs.push(clock.nowMs() - Date.parse(asked.answer.asOf))
      }
    }
  }
  const asking = askOn()
  const load = await runLoad(url, writeKey, seconds).finally(() => (isOver = true))
  const endedAtMs = clock.nowMs()
  await asking
  await untilAsOf(url, readKey, endedAtMs)
  return {
    ...{ eventsPerSecond: load.eventsPerSecond, failedPosts: load.failed, seconds },
    ...{ postP50Ms: load.p50Ms, postP99Ms: load.p99Ms },
    ...{ asked: tookMs.length, failedAsks: failed },
    funnelP50Ms: rounded(median(tookMs)),
    funnelP99Ms: rounded(quantile(tookMs, 0.99)),
    lagMedianS: rounded(median(lagMs) / 1_000, 2),
    lagMaxS: rounded(largest(lagMs) / 1_000, 2),
    coveredAfterS: rounded((clock.nowMs() - endedAtMs) / 1_000, 2),
  }
}

/** One event of a new user at a time: how long after its acknowledgement it is counted. */
async function timeFreshness(url: string, { writeKey, readKey }: Keys, rounds: number) {
  const event = 'seen'
  const post = () => postBatch(url, writeKey, [newUsersEvent(event)])
  const usersOf = async (freshness: string) => {
    const { answer, ms } = await ask(url, readKey, { steps: freshSteps([event]), freshness })
    return { users: answer.steps[0]!.users, ms }
  }

  const countedMs: number[] = []
  for (let posted = 1; posted <= rounds; posted++) {
    await post()
    const startedMs = clock.monotonicMs()
    while ((await usersOf('sealed')).users < posted) {
      if (clock.monotonicMs() - startedMs > FRESH_TIMEOUT_MS) throw new Error('never counted')
      await sleep(FRESH_POLL_MS)
    }
    countedMs.push(clock.monotonicMs() - startedMs)
  }

  const nowMs: number[] = []
  let countedAtOnce = 0
  for (let posted = rounds + 1; posted <= 2 * rounds; posted++) {
    await post()
    const { users, ms } = await usersOf('now')
    if (users === posted) countedAtOnce++
    nowMs.push(ms)
  }
  return {
    rounds,
    countedAfterMedianS: rounded(median(countedMs) / 1_000, 2),
    countedAfterMaxS: rounded(largest(countedMs) / 1_000, 2),
    now: {
      countedAtOnce,
      p50Ms: rounded(median(nowMs), 1),
      p99Ms: rounded(quantile(nowMs, 0.99), 1),
    },
  }
}

function newUsersEvent(event: string) {
  return { id: randomUUID(), event, userId: randomUUID(), time: clock.nowMs() }
}
