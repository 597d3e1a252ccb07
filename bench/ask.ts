// Questions over HTTP, and what is said of many times.
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock as clock } from '../src/clock.ts'

const POLL_MS = 50
const AS_OF_TIMEOUT_MS = 1_800_000

interface StepCount {
  readonly users: number
}

export interface Answer {
  readonly steps: readonly StepCount[]
  readonly breakdown?: readonly { readonly value: string; readonly steps: readonly StepCount[] }[]
  readonly asOf: string
  readonly tookMs: Readonly<Record<string, number>>
  readonly read: Readonly<Record<string, number>>
}

/** Asks a funnel; `ms` is the time there and back. Throws an Error for any answer but 200. */
export async function ask(url: string, key: string, query: unknown) {
  const startedMs = clock.monotonicMs()
  const response = await fetch(`${url}/v1/funnels`, {
    ...{ method: 'POST', headers: { authorization: `Bearer ${key}` } },
    body: JSON.stringify(query),
  })
  if (response.status !== 200) throw new Error(await response.text())
  const answer = (await response.json()) as Answer
  return { answer, ms: clock.monotonicMs() - startedMs }
}

/** Steps that are not answered by what was answered within the last seconds: a label changes no work. */
export function freshSteps(events: readonly string[]) {
  return events.map((event) => ({ event, label: `${event} ${clock.monotonicMs()}` }))
}

/** Returns once an answer says to hold all that was acknowledged before `momentMs`. */
export async function untilAsOf(url: string, key: string, momentMs: number): Promise<void> {
  const deadlineMs = clock.monotonicMs() + AS_OF_TIMEOUT_MS
  for (;;) {
    const { answer } = await ask(url, key, { steps: freshSteps(['none']) })
    if (Date.parse(answer.asOf) >= momentMs) return
    if (clock.monotonicMs() > deadlineMs) throw new Error(`still as of ${answer.asOf}`)
    await sleep(POLL_MS)
  }
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** NaN of nothing. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
}

export function largest(values: readonly number[]): number {
  return values.reduce((max, value) => Math.max(max, value), -Infinity)
}

/** Rounds to so many digits after the point. */
export function rounded(value: number, digits = 0): number {
  return Number(value.toFixed(digits))
}
