import type { FunnelSpec } from '../../src/analysis/funnel-spec.ts'
import type { UsersAsked } from '../../src/analysis/funnel-users.ts'
import type { TestEvent } from './columns.ts'
import { slowChains, type SlowChain } from './slow-chains.ts'

/** The events that have a property, each of a user who is its value as text: what counting by it means. */
export function byValue(events: readonly TestEvent[], property: string): TestEvent[] {
  return events.flatMap((event) => {
    const value = event.properties?.[property] ?? null
    return value === null ? [] : [{ ...event, user: String(value) }]
  })
}

/** Counts by step what `slowChains` finds. */
export function slowFunnel(spec: FunnelSpec, events: readonly TestEvent[]) {
  const chains = slowChains(spec, events)
  const whole = chains.filter(({ isOfWhole }) => isOfWhole)
  const texts = new Set(chains.flatMap(({ text }) => (text === undefined ? [] : [text])))
  const starts = spec.trendStartsMs
  return {
    users: countsOf(spec, whole),
    breakdown:
      spec.breakdown === null
        ? null
        : new Map(
            [...texts].map((text) => [
              text,
              countsOf(
                spec,
                chains.filter((chain) => chain.text === text),
              ),
            ]),
          ),
    trend:
      starts === null
        ? null
        : starts.slice(1).map((endMs, at) =>
            countsOf(
              spec,
              whole.filter(({ entryMs }) => entryMs >= starts[at]! && entryMs < endMs),
            ),
          ),
    /** By step, then in all: ascending. */
    times: spec.timeToConvert ? timesOf(spec, whole) : null,
  }
}

/** Lists the users of a bar in the order of `slowChains`. */
export function slowFunnelUsers(
  { spec, step, outcome, values }: UsersAsked,
  events: readonly TestEvent[],
) {
  return slowChains(spec, events)
    .filter(({ isOfWhole, text }) =>
      values === null
        ? isOfWhole
        : text !== undefined && values.texts.includes(text) === values.areAmong,
    )
    .flatMap(({ user, entryMs, timesMs }) => {
      const taken = timesMs.flatMap((ms, index) => (ms === null ? [] : [index]))
      let before = step - 2
      while (spec.order !== 'any' && spec.steps[before]?.isOptional === true) before--
      const isOfBar =
        outcome === 'converted'
          ? taken.includes(step - 1)
          : taken.every((index) => index < step - 1) && taken.includes(before)
      const reached = outcome === 'converted' ? step - 1 : taken.at(-1)!
      return isOfBar ? [{ user, enteredMs: entryMs, reachedMs: timesMs[reached]! }] : []
    })
}

function countsOf({ steps }: FunnelSpec, chains: readonly SlowChain[]): number[] {
  return steps.map((_, step) => chains.filter(({ timesMs }) => timesMs[step] !== null).length)
}

function timesOf({ steps }: FunnelSpec, chains: readonly SlowChain[]): number[][] {
  const between = steps.map((_, step) =>
    chains.flatMap(({ timesMs }) => {
      const before = timesMs.slice(0, step).findLast((ms) => ms !== null)
      return step === 0 || timesMs[step] === null ? [] : [timesMs[step]! - before!]
    }),
  )
  const inAll = chains.flatMap(({ timesMs }) =>
    timesMs.at(-1) === null || steps.length === 1 ? [] : [timesMs.at(-1)! - timesMs[0]!],
  )
  return [...between, inAll].map((times) => times.toSorted((a, b) => a - b))
}
