import assert from 'node:assert'
import { readFileSync } from 'node:fs'
import type { Condition, Op } from '../../src/analysis/condition.ts'
import {
  PLAIN,
  type FunnelBreakdown,
  type FunnelSpec,
  type FunnelStep,
} from '../../src/analysis/funnel-spec.ts'
import type { EventMatcher } from '../../src/analysis/step-mask.ts'
import { SESSION_ID_PATH, type Value } from '../../src/segment/columns.ts'
import { BREAKDOWN_LIMIT_DEFAULT } from '../../src/wire/funnel-query.ts'
import type { TestEvent } from './columns.ts'

/** A funnel as it is asked for over HTTP. */
export interface FunnelRequest {
  readonly steps: readonly StepRequest[]
  readonly windowMs: number
  /** Milliseconds since 1970, as `to`. */
  readonly from: number
  readonly to: number
  readonly rangeBounds?: 'entry' | 'all'
  readonly order?: FunnelSpec['order']
  readonly entry?: FunnelSpec['entry']
  readonly exclude?: readonly (MatcherRequest & { afterStep?: number; beforeStep?: number })[]
  readonly count?: FunnelSpec['count'] | { readonly property: string }
  readonly hold?: readonly string[]
  readonly breakdown?: {
    readonly property: string
    readonly attribution?: FunnelBreakdown['attribution']
    readonly step?: number
    readonly limit?: number
  }
}

export interface StepRequest extends MatcherRequest {
  readonly anyOf?: readonly (string | MatcherRequest)[]
  readonly anyEvent?: true
  readonly optional?: boolean
  readonly firstTime?: boolean | 'matching'
}

interface MatcherRequest {
  readonly event?: string
  readonly where?: readonly {
    readonly property: string
    readonly op?: Op
    readonly value?: Value | readonly Value[]
  }[]
}

export interface FunnelCase {
  readonly id: string
  /** What the case shows, in the words of api.md. */
  readonly says?: string
  /** In order of arrival. Times may be before 1970. */
  readonly events: readonly TestEvent[]
  readonly funnel: FunnelRequest
  /** Users by step. */
  readonly expected: readonly number[]
  /** Users by step and shown value. */
  readonly expectedBreakdown?: Readonly<Record<string, readonly number[]>>
  /** By step, from the one before. */
  readonly expectedMeanMs?: readonly (number | null)[]
  readonly expectedMedianMs?: readonly (number | null)[]
  readonly expectedHistogram?: readonly { readonly fromMs: number; readonly users: number }[]
  /** All of them are to answer the same. */
  readonly timeZones?: readonly string[]
}

/** The cases that wait for what is not built, and for what. All others are run. */
export const WAITING: Readonly<Record<string, string>> = {
  'PH-O-03': 'identity merging',
  'PH-O-44': 'identity merging',
}

/** The cases that can be run: worked cases, and faults that other systems had. */
export function runnableCases(): FunnelCase[] {
  return rawCases()
    .filter(({ id }) => !(id in WAITING))
    .map(toCase)
}

/** The ids of all cases. */
export function caseIds(): string[] {
  return rawCases().map(({ id }) => id)
}

/** Whether a case says how long steps take. */
export function expectsTimes({ expectedMeanMs, expectedHistogram }: FunnelCase): boolean {
  return expectedMeanMs !== undefined || expectedHistogram !== undefined
}

/** Returns the checked form of a request, whatever it counts; fails for a field that it does not know. */
export function specOf(worked: FunnelCase): FunnelSpec {
  const { steps, windowMs, from, to, rangeBounds = 'entry', ...asked } = worked.funnel
  const { breakdown, count, exclude = [], hold = [], ...ways } = asked
  const { order = 'ordered', entry = 'best', ...unknown } = ways
  assert.deepEqual(unknown, {})
  return {
    ...PLAIN,
    ...{ steps: steps.map(stepOf), windowMs, order, entry, hold },
    ...{ entryStartMs: from, entryEndMs: to, lastEndMs: rangeBounds === 'all' ? to : Infinity },
    count: typeof count === 'string' ? count : 'users',
    exclude: exclude.map(({ event, where = [], afterStep = 1, beforeStep = 2, ...unknown }) => {
      assert.deepEqual(unknown, {})
      return {
        matchers: [matcherOf(event, where)],
        ...{ afterStep: afterStep - 1, beforeStep: beforeStep - 1 },
      }
    }),
    breakdown: breakdown
      ? {
          ...{ attribution: 'first', limit: BREAKDOWN_LIMIT_DEFAULT, ...breakdown },
          step: (breakdown.step ?? 1) - 1,
        }
      : null,
    timeToConvert: expectsTimes(worked),
  }
}

/** A case as test/cases holds it: events as [user, event, timeMs, properties, session id], a range only if it matters. */
interface RawCase extends Omit<FunnelCase, 'events' | 'funnel'> {
  readonly events: readonly [string, string, number, Record<string, Value>?, string?][]
  readonly funnel: Omit<FunnelRequest, 'from' | 'to'> & { from?: number; to?: number }
}

function rawCases(): RawCase[] {
  return ['funnel', 'faults'].flatMap((name) => {
    const file = new URL(`../cases/${name}.json`, import.meta.url)
    return JSON.parse(readFileSync(file, 'utf8')) as RawCase[]
  })
}

function toCase({ events, funnel, ...rest }: RawCase): FunnelCase {
  const times = events.map(([, , timeMs]) => timeMs)
  return {
    ...rest,
    events: events.map(([user, event, timeMs, properties, sessionId]) => ({
      ...{ user, event, timeMs },
      properties: { ...properties, ...(sessionId && { [SESSION_ID_PATH]: sessionId }) },
    })),
    funnel: { from: Math.min(0, ...times), to: Math.max(0, ...times) + 1, ...funnel },
  }
}

function stepOf({ optional, firstTime, ...step }: StepRequest): FunnelStep {
  return {
    matchers: matchersOf(step),
    isOptional: optional ?? false,
    firstTime: firstTime === true ? 'event' : firstTime || null,
  }
}

function matchersOf({ event, anyOf, anyEvent, where = [], ...unknown }: StepRequest) {
  assert.deepEqual(unknown, {})
  if (anyOf === undefined) {
    assert((event === undefined) === (anyEvent === true))
    return [matcherOf(event, where)]
  }
  assert(event === undefined && anyEvent === undefined)
  return anyOf.map((one) => {
    if (typeof one === 'string') return matcherOf(one, where)
    assert(one.event !== undefined)
    return matcherOf(one.event, [...(one.where ?? []), ...where])
  })
}

function matcherOf(
  eventName: string | undefined,
  where: NonNullable<MatcherRequest['where']>,
): EventMatcher {
  const conditions = where.map(({ op = 'eq', ...rest }): Condition => ({ op, ...rest }))
  return { eventName: eventName ?? null, where: conditions }
}
