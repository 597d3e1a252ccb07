import { systemClock as clock } from '../src/clock.ts'
import { DAY_MS, HOUR_MS } from '../src/event/day.ts'
import { ask, freshSteps, median, rounded, type Answer } from './ask.ts'
import { DAYS, EVENT_NAMES, makeDataSet } from './data-set.ts'
import { loadAndSeal } from './load-and-seal.ts'
import { startServeProcess } from './serve-process.ts'
import {
  makeProject,
  memoryMb,
  startServiceProcess,
  type ServiceProcess,
} from './service-process.ts'

// Asks: what does each option of a funnel cost, as a multiple of the plain funnel of the same round? Cold: a process
// that has just started, whose caches are empty.

const SEED = 7
const ROUNDS = 2
const WARM_ASKS = 2
const [VIEW, CART, BUY] = EVENT_NAMES

type Step = Record<string, unknown>
const withStep = (at: number, more: Step) => (steps: Step[]) =>
  steps.map((step, index) => (index === at ? { ...step, ...more } : step))
const by = (property: string, attribution: string) => ({
  breakdown: { property, attribution, limit: 1_000 },
})

interface Option {
  readonly steps?: (steps: Step[]) => Step[]
  readonly more?: object
}

const where = [{ property: 'country', value: 'DE' }]
const OPTIONS: Readonly<Record<string, Option>> = {
  'a filter on the first step': { steps: withStep(0, { where }) },
  'a window of an hour': { more: { windowMs: HOUR_MS } },
  'anyOf on the second step': { steps: withStep(1, { event: undefined, anyOf: [CART, BUY] }) },
  'anyEvent as the second step': { steps: withStep(1, { event: undefined, anyEvent: true }) },
  'order strict': { more: { order: 'strict' } },
  'order any': { more: { order: 'any' } },
  'entry first': { more: { entry: 'first' } },
  'an optional step': { steps: withStep(1, { optional: true }) },
  'firstTime on the first step': { steps: withStep(0, { firstTime: true }) },
  'exclude a view between cart and purchase': {
    more: { exclude: [{ event: VIEW, afterStep: 2, beforeStep: 3 }] },
  },
  'count attempts': { more: { count: 'attempts' } },
  'count sessions': { more: { count: 'sessions' } },
  'count the values of country': { more: { count: { property: 'country' } } },
  'hold plan': { more: { hold: ['plan'] } },
  'breakdown by country, first': { more: by('country', 'first') },
  'breakdown by plan, first': { more: by('plan', 'first') },
  'breakdown by plan, last': { more: by('plan', 'last') },
  'breakdown by plan, every': { more: by('plan', 'every') },
  'trend by day': { more: { trend: 'day' } },
  timeToConvert: { more: { timeToConvert: true } },
  'compare previous': { more: { compare: 'previous' } },
  'sample 0.1': { more: { sample: 0.1 } },
}

interface Timed {
  readonly coldMs: number
  readonly warmMs: number
  readonly peakMb: number
  readonly answer: Answer
}

/** Asks one question of a process that has just started. */
async function timed(service: ServiceProcess, key: string, queryOf: () => object): Promise<Timed> {
  const fresh = await startServeProcess(service, { SEALING: 'off' })
  try {
    const { answer, ms: coldMs } = await ask(fresh.url, key, queryOf())
    const warmMs: number[] = []
    for (let index = 0; index < WARM_ASKS; index++)
      warmMs.push((await ask(fresh.url, key, queryOf())).ms)
    const { peakMb } = await memoryMb(fresh.pid)
    return { coldMs, warmMs: Math.min(...warmMs), peakMb, answer }
  } finally {
    await fresh.close()
  }
}

export async function options() {
  const userCount = Number(process.env['USERS'] ?? 10_000_000)
  const startMs = Math.floor(clock.nowMs() / DAY_MS) * DAY_MS - (DAYS + 1) * DAY_MS
  const dataSet = makeDataSet({ userCount, seed: SEED, startMs })
  const service = await startServiceProcess({ LOG_LEVEL: 'warn' })
  try {
    const { id, readKey } = await makeProject(service)
    const { events } = await loadAndSeal(service, id, dataSet)
    const queryOf =
      ({ steps = (all) => all, more = {} }: Option) =>
      () => ({
        ...{ steps: steps(freshSteps(EVENT_NAMES)), windowMs: 7 * DAY_MS, rangeBounds: 'all' },
        ...{ from: startMs, to: startMs + DAYS * DAY_MS, ...more },
      })
    const plain: Timed[] = []
    const rows = []
    for (const [name, option] of Object.entries(OPTIONS)) {
      const own: Timed[] = []
      const beside: Timed[] = []
      for (let round = 0; round < ROUNDS; round++) {
        beside.push(await timed(service, readKey, queryOf({})))
        own.push(await timed(service, readKey, queryOf(option)))
      }
      plain.push(...beside)
      rows.push({ option: name, ...costOf(own, beside) })
      console.log(JSON.stringify(rows.at(-1)))
    }
    const medianOf = (of: (one: Timed) => number) => rounded(median(plain.map(of)))
    return {
      ...{ bench: 'options', users: userCount, events },
      plain: { coldMs: medianOf((one) => one.coldMs), warmMs: medianOf((one) => one.warmMs) },
      rows,
    }
  } finally {
    await service.close()
  }
}

function costOf(own: readonly Timed[], beside: readonly Timed[]) {
  const [ofOwn, ofPlain] = [own, beside].map((all) => ({
    coldMs: median(all.map(({ coldMs }) => coldMs)),
    warmMs: median(all.map(({ warmMs }) => warmMs)),
  })) as [{ coldMs: number; warmMs: number }, { coldMs: number; warmMs: number }]
  const { answer } = own[0]!
  return {
    timesCold: rounded(ofOwn.coldMs / ofPlain.coldMs, 2),
    timesWarm: rounded(ofOwn.warmMs / ofPlain.warmMs, 2),
    ...{ coldMs: rounded(ofOwn.coldMs), warmMs: rounded(ofOwn.warmMs) },
    peakMb: rounded(Math.max(...own.map(({ peakMb }) => peakMb))),
    ...{ events: answer.read['events'], bytes: answer.read['bytes'] },
    counts: answer.steps.map(({ users }) => users),
  }
}
