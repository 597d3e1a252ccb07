import { availableParallelism, tmpdir } from 'node:os'
import { systemClock as clock } from '../src/clock.ts'
import { DAY_MS, HOUR_MS } from '../src/event/day.ts'
import { ask, median } from './ask.ts'
import { openClickHouse, type ClickHouse, type FunnelQuestion } from './clickhouse.ts'
import { makeDataSet } from './data-set.ts'
import { loadAndSeal } from './load-and-seal.ts'
import { startServeProcess } from './serve-process.ts'
import {
  makeProject,
  memoryMb,
  startServiceProcess,
  type ServiceProcess,
} from './service-process.ts'

// Asks: how long does a funnel over ten million users take, beside ClickHouse on the same events, machine
// and minute? Cold: a process that has just started, whose caches are empty, every byte from Cassandra.

const SEED = 7
/** The first does not count: Cassandra has only written by then, and compiles what reads. */
const ROUNDS = 4
const WARM_ASKS = 3

const VIEW = 'page_view'
const CART = 'add_to_cart'
const BUY = 'purchase'
const THREE = [VIEW, CART, BUY] as const
const QUESTIONS: Readonly<Record<string, FunnelQuestion>> = {
  plain: { steps: THREE, windowMs: 7 * DAY_MS },
  filter: {
    ...{ steps: THREE, windowMs: 7 * DAY_MS },
    filter: { step: 0, property: 'country', value: 'DE' },
  },
  breakdown: { steps: THREE, windowMs: 7 * DAY_MS, breakdown: 'country' },
  hour: { steps: THREE, windowMs: HOUR_MS },
  eightSteps: { steps: [...THREE, ...THREE, VIEW, CART], windowMs: 7 * DAY_MS },
}

interface Timed {
  readonly coldMs: number[]
  readonly warmMs: number[]
  readonly clickHouseMs: number[]
  areCountsEqual: boolean
  counts: readonly number[]
}

function queryOf({ steps, windowMs, filter, breakdown }: FunnelQuestion, startMs: number) {
  return {
    steps: steps.map((event, index) => ({
      event,
      // Not answered by what was answered within the last seconds: a label changes no work.
      label: `${event} ${clock.monotonicMs()}`,
      where:
        filter?.step === index ? [{ property: filter.property, value: filter.value }] : undefined,
    })),
    ...{ windowMs, from: startMs, to: startMs + 30 * DAY_MS, rangeBounds: 'all' },
    ...(breakdown === undefined ? {} : { breakdown: { property: breakdown, limit: 1_000 } }),
  }
}

/** Asks one question of both, in turn; notes the times. */
async function compare(
  { service, key, clickHouse }: { service: ServiceProcess; key: string; clickHouse: ClickHouse },
  question: FunnelQuestion,
  startMs: number,
  timed: Timed,
): Promise<number> {
  const theirs = await clickHouse.funnel(question)
  timed.clickHouseMs.push(theirs.seconds * 1_000)
  const fresh = await startServeProcess(service, { SEALING: 'off' })
  try {
    const cold = await ask(fresh.url, key, queryOf(question, startMs))
    timed.coldMs.push(cold.ms)
    console.log(
      'cold',
      Math.round(cold.ms),
      JSON.stringify(cold.answer.tookMs),
      JSON.stringify(cold.answer.read),
    )
    for (let index = 0; index < WARM_ASKS; index++) {
      const warm = await ask(fresh.url, key, queryOf(question, startMs))
      timed.warmMs.push(warm.ms)
      console.log('warm', Math.round(warm.ms), JSON.stringify(warm.answer.tookMs))
    }
    const { steps, breakdown = [] } = cold.answer
    timed.counts = steps.map(({ users }) => users)
    const byValue = Object.fromEntries(
      breakdown.map((part) => [part.value, part.steps.map(({ users }) => users)]),
    )
    const isSame = String(timed.counts) === String(theirs.counts)
    const isSameByValue = Object.entries(theirs.byValue ?? {}).every(
      ([value, counts]) => String(byValue[value]) === String(counts),
    )
    timed.areCountsEqual &&= isSame && isSameByValue
    return (await memoryMb(fresh.pid)).peakMb
  } finally {
    await fresh.close()
  }
}

export async function funnel() {
  const userCount = Number(process.env['USERS'] ?? 10_000_000)
  const startMs = Math.floor(clock.nowMs() / DAY_MS) * DAY_MS - 31 * DAY_MS
  console.log(`${userCount} users, ${availableParallelism()} cores`)
  const dataSet = makeDataSet({ userCount, seed: SEED, startMs })
  const service = await startServiceProcess()
  try {
    const { id, readKey: key } = await makeProject(service)
    const loaded = await loadAndSeal(service, id, dataSet)
    console.log(JSON.stringify(loaded))
    const sealerMb = (await memoryMb(service.pid)).peakMb
    const clickHouse = await openClickHouse({ dataSet, folder: tmpdir() })
    try {
      const results: Record<string, Timed> = {}
      let peakMb = 0
      for (const [name, question] of Object.entries(QUESTIONS)) {
        const timed: Timed = {
          ...{ coldMs: [], warmMs: [], clickHouseMs: [], areCountsEqual: true, counts: [] },
        }
        results[name] = timed
        for (let round = 0; round < ROUNDS; round++)
          peakMb = Math.max(
            peakMb,
            await compare({ service, key, clickHouse }, question, startMs, timed),
          )
        console.log(name, JSON.stringify(shown(timed)))
      }
      const plain = shown(results['plain']!)
      return {
        ...{ ratioCold: plain.ratioCold, ratioWarm: plain.ratioWarm, ...loaded },
        ...{ users: userCount, peakMb: Math.round(peakMb), sealerPeakMb: Math.round(sealerMb) },
        clickHouse: clickHouse.version,
        questions: Object.fromEntries(
          Object.entries(results).map(([name, timed]) => [name, shown(timed)]),
        ),
      }
    } finally {
      await clickHouse.close()
    }
  } finally {
    await service.close()
  }
}

function shown({ coldMs, warmMs, clickHouseMs, areCountsEqual, counts }: Timed) {
  const [cold, warm, theirs] = [coldMs, warmMs, clickHouseMs].map((times) =>
    median(times.slice(times.length / ROUNDS)),
  ) as [number, number, number]
  return {
    ratioCold: Number((cold / theirs).toFixed(2)),
    ratioWarm: Number((warm / theirs).toFixed(2)),
    ...{ coldMs: Math.round(cold), warmMs: Math.round(warm), clickHouseMs: Math.round(theirs) },
    ...{ areCountsEqual, counts },
  }
}
