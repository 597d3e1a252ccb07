import { matchesValue } from '../../src/analysis/condition.ts'
import type { FunnelSpec } from '../../src/analysis/funnel-spec.ts'
import type { EventMatcher } from '../../src/analysis/step-mask.ts'
import { SESSION_ID_PATH } from '../../src/segment/columns.ts'
import type { TestEvent } from './columns.ts'

// The definition of a funnel (api.md), sentence by sentence: every chain of every unit is tried. Exponential.

/** What counts once: a chain of a unit of some user. */
export interface SlowChain {
  readonly user: string
  /** Whether it counts in the whole, and the value that it counts under; undefined: under none. */
  readonly isOfWhole: boolean
  readonly text: string | null | undefined
  readonly entryMs: number
  /** By step, when the chain has it; null where it does not. In any order, by rank. */
  readonly timesMs: readonly (number | null)[]
}

export function usersOf(events: readonly TestEvent[]): string[] {
  return [...new Set(events.map(({ user }) => user))]
}

/** Finds what counts, user by user, unit by unit in the order of first events, attempt by attempt. */
export function slowChains(spec: FunnelSpec, events: readonly TestEvent[]): SlowChain[] {
  return usersOf(events).flatMap((user) => {
    const own = events
      .filter((event) => event.user === user)
      .toSorted((a, b) => a.timeMs - b.timeMs)
      .map((event) => eventOf(spec, event, events))
    const inRange = own.filter(
      ({ timeMs }) => timeMs >= spec.entryStartMs && timeMs < spec.lastEndMs,
    )
    return unitsOf(spec, inRange).flatMap((unit) => chainsOfUnit(spec, user, unit))
  })
}

/** An event, with all that the definition asks of it. */
interface Candidate {
  readonly timeMs: number
  /** The steps that it can be. */
  readonly steps: readonly number[]
  /** The exclusions that exclude it. */
  readonly excluded: readonly number[]
  readonly text: string | null
  readonly properties: TestEvent['properties']
}

function eventOf(spec: FunnelSpec, event: TestEvent, all: readonly TestEvent[]): Candidate {
  const own = all.filter(({ user, timeMs }) => user === event.user && timeMs < spec.lastEndMs)
  const steps = spec.steps.flatMap(({ matchers, firstTime }, index) => {
    if (!matchers.some((matcher) => satisfies(event, matcher))) return []
    if (firstTime === null) return [index]
    const asked =
      firstTime === 'event' ? matchers.map(({ eventName }) => ({ eventName, where: [] })) : matchers
    const first = own.filter((one) => asked.some((matcher) => satisfies(one, matcher)))
    return Math.min(...first.map(({ timeMs }) => timeMs)) === event.timeMs ? [index] : []
  })
  return {
    ...{ timeMs: event.timeMs, steps, properties: event.properties },
    excluded: spec.exclude.flatMap(({ matchers }, index) =>
      matchers.some((matcher) => satisfies(event, matcher)) ? [index] : [],
    ),
    text: textAt(event.properties, spec.breakdown?.property ?? ''),
  }
}

function satisfies(event: TestEvent, { eventName, where }: EventMatcher): boolean {
  return (
    (eventName === null || eventName === event.event) &&
    where.every((condition) =>
      matchesValue(condition, event.properties?.[condition.property] ?? null),
    )
  )
}

function textAt(properties: TestEvent['properties'], path: string): string | null {
  const value = properties?.[path] ?? null
  return value === null ? null : String(value)
}

const SILENCE_MS = 30 * 60_000

/** Splits a user's events into units that chains do not leave. */
function unitsOf(spec: FunnelSpec, events: readonly Candidate[]): Candidate[][] {
  const units = new Map<string, Candidate[]>()
  let silent = 0
  let lastMs = -Infinity
  for (const event of events) {
    const session = textAt(event.properties, SESSION_ID_PATH)
    if (session === null) {
      if (event.timeMs - lastMs > SILENCE_MS) silent++
      lastMs = event.timeMs
    }
    const held = spec.hold.map((path) => textAt(event.properties, path))
    const isPart = spec.order === 'strict' || event.steps.length + event.excluded.length > 0
    if (!isPart || held.includes(null)) continue
    const key = JSON.stringify([spec.count === 'sessions' ? (session ?? silent) : 0, held])
    units.set(key, [...(units.get(key) ?? []), event])
  }
  return [...units.values()]
}

function chainsOfUnit(spec: FunnelSpec, user: string, unit: readonly Candidate[]): SlowChain[] {
  const { breakdown } = spec
  const found = (events: readonly Candidate[]) =>
    spec.count === 'attempts' ? attemptsOf(spec, events) : bestOf(spec, events)
  const slow = (chain: Chain, isOfWhole: boolean, text: string | null | undefined): SlowChain => ({
    ...{ user, isOfWhole, text },
    entryMs: chain[0]!.event.timeMs,
    timesMs: spec.steps.map(
      (_, step) => chain.find((link) => link.step === step)?.event.timeMs ?? null,
    ),
  })
  if (breakdown?.attribution !== 'every')
    return found(unit).map((chain) =>
      slow(chain, true, breakdown ? valueOf(spec, chain) : undefined),
    )
  const texts = new Set(unit.filter(({ steps }) => steps.length > 0).map(({ text }) => text))
  return [
    ...found(unit).map((chain) => slow(chain, true, undefined)),
    ...[...texts].flatMap((text) => {
      const ofValue = unit.map((event) => (event.text === text ? event : { ...event, steps: [] }))
      return found(ofValue).map((chain) => slow(chain, false, text))
    }),
  ]
}

function valueOf({ breakdown }: FunnelSpec, chain: Chain): string | null {
  const { attribution, step } = breakdown!
  if (attribution === 'step') return chain.find((link) => link.step === step)?.event.text ?? null
  const texts = chain.flatMap(({ event }) => (event.text === null ? [] : [event.text]))
  return (attribution === 'first' ? texts[0] : texts.at(-1)) ?? null
}

/** In any order, `step` is the rank in time. */
interface Link {
  readonly event: Candidate
  readonly step: number
}
type Chain = readonly Link[]

/** The chain that counts, in a list; an empty list where there is none. */
function bestOf(spec: FunnelSpec, events: readonly Candidate[]): Chain[] {
  const entries = entriesOf(spec, events)
  const best = entries
    .slice(0, spec.entry === 'first' ? 1 : undefined)
    .flatMap((entryMs) => {
      const all = chainsFrom(spec, events, entryMs, entryMs + spec.windowMs)
      // Sets without what is excluded are what is looked for; chains that go furthest must be without it.
      const chains = spec.order === 'any' ? all.filter((set) => isClean(spec, events, set)) : all
      const furthest = Math.max(...chains.map(furthestOf))
      return chains.filter(
        (chain) => furthestOf(chain) === furthest && isClean(spec, events, chain),
      )
    })
    .toSorted(comparing(spec))
  return best.slice(0, 1)
}

function attemptsOf(spec: FunnelSpec, events: readonly Candidate[]): Chain[] {
  const found: Chain[] = []
  let nextMs = -Infinity
  for (const entryMs of entriesOf(spec, events)) {
    if (entryMs < nextMs || (found.length === 1 && spec.entry === 'first')) continue
    const { chain, endMs } = attemptFrom(spec, events, entryMs)
    found.push(chain)
    nextMs = endMs
  }
  return found
}

/** An attempt as it goes on, moment by moment: its best chain, and from when on the next may begin. */
function attemptFrom(spec: FunnelSpec, events: readonly Candidate[], entryMs: number) {
  const windowEndMs = entryMs + spec.windowMs
  const moments = [...new Set(events.map(({ timeMs }) => timeMs))].filter(
    (ms) => ms >= entryMs && ms <= windowEndMs,
  )
  let best: Chain = []
  for (const nowMs of moments) {
    const clean = chainsFrom(spec, events, entryMs, nowMs).filter((chain) =>
      isClean(spec, events, chain, nowMs),
    )
    if (clean.length === 0) return { chain: best, endMs: nowMs + 1 }
    const [now] = clean.toSorted(comparing(spec)) as [Chain]
    if (best.length === 0 || isFurther(best, now)) best = now
    if (furthestOf(best) === spec.steps.length - 1) return { chain: best, endMs: nowMs + 1 }
    const isCut = spec.order === 'any' && nowMs > entryMs && isAnyExcluded(events, nowMs)
    if (isCut) return { chain: best, endMs: nowMs + 1 }
    const isOver = spec.order === 'strict' && clean.every((chain) => !canGoOn(events, chain, nowMs))
    if (isOver) return { chain: best, endMs: nowMs }
  }
  return { chain: best, endMs: windowEndMs + 1 }
}

const isAnyExcluded = (events: readonly Candidate[], ms: number) =>
  events.some(({ timeMs, excluded }) => timeMs === ms && excluded.length > 0)

/** Strictly: nothing has come after the chain's last event but events that could be its last step. */
function canGoOn(events: readonly Candidate[], chain: Chain, nowMs: number): boolean {
  const { event: last, step } = chain.at(-1)!
  return events.every(
    ({ timeMs, steps }) => timeMs <= last.timeMs || timeMs > nowMs || steps.includes(step),
  )
}

function entriesOf(spec: FunnelSpec, events: readonly Candidate[]): number[] {
  const entries = events.filter(
    ({ timeMs, steps }) =>
      timeMs < spec.entryEndMs && (spec.order === 'any' ? steps.length > 0 : steps.includes(0)),
  )
  return [...new Set(entries.map(({ timeMs }) => timeMs))]
}

/** All chains that begin at a moment and end by another. */
function chainsFrom(
  spec: FunnelSpec,
  events: readonly Candidate[],
  entryMs: number,
  endMs: number,
): Chain[] {
  const within = events.filter(({ timeMs }) => timeMs >= entryMs && timeMs <= endMs)
  if (spec.order === 'any') return setsFrom(spec, within, entryMs)
  const found: Chain[] = []
  const go = (chain: Chain) => {
    if (chain.length > 0) found.push(chain)
    const last = chain.at(-1)
    for (let step = (last?.step ?? -1) + 1; step < spec.steps.length; step++) {
      for (const event of within) {
        if (!event.steps.includes(step) || chain.some((link) => link.event === event)) continue
        if (last === undefined ? event.timeMs !== entryMs : event.timeMs < last.event.timeMs)
          continue
        if (last !== undefined && spec.order === 'strict' && isCut(events, last, event)) continue
        go([...chain, { event, step }])
      }
      if (!spec.steps[step]!.isOptional) break
    }
  }
  go([])
  return found
}

/** Whether another event than a repeat of the step lies between two links. */
function isCut(events: readonly Candidate[], { event, step }: Link, next: Candidate): boolean {
  return events.some(
    ({ timeMs, steps }) => timeMs > event.timeMs && timeMs < next.timeMs && !steps.includes(step),
  )
}

/** All sets that begin at a moment, whose events can have a step each; in the order of time, then of texts. */
function setsFrom(spec: FunnelSpec, events: readonly Candidate[], entryMs: number): Chain[] {
  const inOrder = events.toSorted(
    (a, b) => a.timeMs - b.timeMs || compareMissingLast(a.text, b.text),
  )
  const found: Chain[] = []
  const go = (chosen: readonly Candidate[], rest: readonly Candidate[]) => {
    if (chosen.length > 0) found.push(chosen.map((event, step) => ({ event, step })))
    rest.forEach((event, at) => {
      const isFirst = chosen.length > 0 || event.timeMs === entryMs
      const more = [...chosen, event]
      if (isFirst && canMatch(more, spec.steps.length)) go(more, rest.slice(at + 1))
    })
  }
  go([], inOrder)
  return found
}

function canMatch(
  events: readonly Candidate[],
  stepCount: number,
  used: readonly number[] = [],
): boolean {
  const [first, ...rest] = events
  return (
    first === undefined ||
    first.steps.some((step) => !used.includes(step) && canMatch(rest, stepCount, [...used, step]))
  )
}

/** Whether a chain meets no excluded event; looked at until `nowMs`, or until its window ends. */
function isClean(
  spec: FunnelSpec,
  events: readonly Candidate[],
  chain: Chain,
  nowMs = chain[0]!.event.timeMs + spec.windowMs,
): boolean {
  // A step that is left out is passed with the next one.
  const linkFrom = (step: number) => chain.find((link) => link.step >= step)
  if (spec.order === 'any') {
    const [fromMs, toMs] = [chain[0]!.event.timeMs, chain.at(-1)!.event.timeMs]
    return events.every(
      ({ timeMs, excluded }) => excluded.length === 0 || timeMs <= fromMs || timeMs >= toMs,
    )
  }
  return spec.exclude.every(({ afterStep, beforeStep }, index) => {
    const after = linkFrom(afterStep)
    const fromMs = after === undefined || after.step >= beforeStep ? undefined : after.event.timeMs
    const toMs = linkFrom(beforeStep)?.event.timeMs
    return events.every(
      ({ timeMs, excluded }) =>
        !excluded.includes(index) ||
        fromMs === undefined ||
        timeMs <= fromMs ||
        (toMs === undefined ? timeMs > nowMs : timeMs >= toMs),
    )
  })
}

function furthestOf(chain: Chain): number {
  return chain.at(-1)!.step
}

/**
 * The furthest first; with the most steps; with the earliest ones; then each step in turn as early; then the text of
 * each that is asked about as small.
 */
function comparing(spec: FunnelSpec): (a: Chain, b: Chain) => number {
  const steps = spec.steps.map((_, step) => step)
  const { attribution, step: asked } = spec.breakdown ?? { attribution: 'first', step: 0 }
  const valued = attribution === 'step' && spec.order !== 'any' ? [asked] : steps
  const timeAt = (chain: Chain, step: number) =>
    chain.find((link) => link.step === step)?.event.timeMs ?? 0
  const textAtStep = (chain: Chain, step: number) =>
    chain.find((link) => link.step === step)?.event.text ?? null
  return (a, b) =>
    compareSteps(a, b) ||
    steps.reduce((order, step) => order || timeAt(a, step) - timeAt(b, step), 0) ||
    valued.reduce(
      (order, step) => order || compareMissingLast(textAtStep(a, step), textAtStep(b, step)),
      0,
    )
}

function compareSteps(a: Chain, b: Chain): number {
  if (furthestOf(a) !== furthestOf(b)) return furthestOf(b) - furthestOf(a)
  if (a.length !== b.length) return b.length - a.length
  const differing = a.findIndex(({ step }, at) => b[at]!.step !== step)
  return differing === -1 ? 0 : a[differing]!.step - b[differing]!.step
}

function isFurther(before: Chain, now: Chain): boolean {
  return compareSteps(now, before) < 0
}

function compareMissingLast(a: string | null, b: string | null): number {
  if (a === b) return 0
  if (a === null) return 1
  if (b === null) return -1
  return a < b ? -1 : 1
}
