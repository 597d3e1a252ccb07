import { matchesValue } from '../../src/analysis/condition.ts'
import {
  declareFunnel,
  propertiesOf,
  type FunnelCounts,
  type FunnelSpec,
} from '../../src/analysis/funnel.ts'
import type { Step } from '../../src/analysis/step-mask.ts'
import { daysOf, type TestEvent } from './columns.ts'

/** Counts a funnel with the code under test: one fold group, day by day. */
export function foldFunnel(spec: FunnelSpec, events: readonly TestEvent[]): FunnelCounts {
  const users = usersOf(events)
  const group = declareFunnel(spec).openGroup(users.length)
  for (const day of daysOf(events, propertiesOf(spec), users)) group.fold(day)
  return group.close()
}

/** The events that have a property, each of a user who is its value as text: what counting by it means. */
export function byValue(events: readonly TestEvent[], property: string): TestEvent[] {
  return events.flatMap((event) => {
    const value = event.properties?.[property] ?? null
    return value === null ? [] : [{ ...event, user: String(value) }]
  })
}

export function usersOf(events: readonly TestEvent[]): string[] {
  return [...new Set(events.map(({ user }) => user))]
}

/**
 * Counts a funnel by its definition, sentence by sentence: for each user and each entry, every chain of
 * distinct events is tried. Exponential.
 */
export function slowFunnel(spec: FunnelSpec, events: readonly TestEvent[]): FunnelCounts {
  const users = spec.steps.map(() => 0)
  const breakdown = new Map<string | null, number[]>()
  for (const user of usersOf(events)) {
    const best = bestEntry(
      spec,
      events.filter((event) => event.user === user),
    )
    if (best === undefined) continue
    const ofValue = breakdown.get(best.text) ?? spec.steps.map(() => 0)
    breakdown.set(best.text, ofValue)
    for (let step = 0; step < best.reached; step++) {
      users[step]! += 1
      ofValue[step]! += 1
    }
  }
  return { users, breakdown: spec.breakdown === null ? null : breakdown }
}

/** Of one user's entries with the longest chain: the earliest, then the smallest text, missing last. */
function bestEntry(spec: FunnelSpec, events: readonly TestEvent[]) {
  const inRange = events.filter(
    ({ timeMs }) => timeMs >= spec.entryStartMs && timeMs < spec.lastEndMs,
  )
  const entries = inRange
    .filter((event) => event.timeMs < spec.entryEndMs && satisfies(event, spec.steps[0]!))
    .map((event) => {
      const value = event.properties?.[spec.breakdown?.property ?? ''] ?? null
      const text = value === null ? null : String(value)
      return { timeMs: event.timeMs, text, reached: longestChain(spec, inRange, [event]) }
    })
  return entries.toSorted(
    (a, b) => b.reached - a.reached || a.timeMs - b.timeMs || compareMissingLast(a.text, b.text),
  )[0]
}

/** Returns the length of the longest chain that begins with the events of `chain`. */
function longestChain(
  spec: FunnelSpec,
  events: readonly TestEvent[],
  chain: readonly TestEvent[],
): number {
  const step = spec.steps[chain.length]
  if (step === undefined) return chain.length
  const next = events.filter(
    (event) =>
      !chain.includes(event) &&
      event.timeMs >= chain.at(-1)!.timeMs &&
      event.timeMs <= chain[0]!.timeMs + spec.windowMs &&
      satisfies(event, step),
  )
  const lengths = next.map((event) => longestChain(spec, events, [...chain, event]))
  return Math.max(chain.length, ...lengths)
}

function satisfies(event: TestEvent, { matchers }: Step): boolean {
  return matchers.some(
    ({ eventName, where }) =>
      (eventName === null || eventName === event.event) &&
      where.every((condition) =>
        matchesValue(condition, event.properties?.[condition.property] ?? null),
      ),
  )
}

function compareMissingLast(a: string | null, b: string | null): number {
  if (a === b) return 0
  if (a === null) return 1
  if (b === null) return -1
  return a < b ? -1 : 1
}
