import assert from 'node:assert'
import { readFileSync } from 'node:fs'
import type { Condition, Op } from '../../src/analysis/condition.ts'
import { BREAKDOWN_LIMIT_DEFAULT, type FunnelSpec } from '../../src/analysis/funnel.ts'
import type { EventMatcher, Step } from '../../src/analysis/step-mask.ts'
import type { Value } from '../../src/segment/columns.ts'
import type { TestEvent } from './columns.ts'

/** A funnel as it is asked for over HTTP. Only the fields that the analysis has yet. */
export interface FunnelRequest {
  readonly steps: readonly StepRequest[]
  readonly windowMs: number
  /** Milliseconds since 1970, as `to`. */
  readonly from: number
  readonly to: number
  readonly rangeBounds?: 'entry' | 'all'
  readonly count?: { readonly property: string }
  readonly breakdown?: {
    readonly property: string
    readonly attribution: 'step'
    readonly step: 1
    readonly limit?: number
  }
}

export interface StepRequest extends MatcherRequest {
  readonly anyOf?: readonly (string | MatcherRequest)[]
  readonly anyEvent?: true
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
  /** In order of arrival. Times may be before 1970. */
  readonly events: readonly TestEvent[]
  readonly funnel: FunnelRequest
  /** Users by step. */
  readonly expected: readonly number[]
  /** Users by step and shown value. */
  readonly expectedBreakdown?: Readonly<Record<string, readonly number[]>>
}

/**
 * The cases that wait for what is not built, and for what. All others are run.
 */
export const WAITING: Readonly<Record<string, string>> = {
  ...because('order: strict', [
    ...['CH-12', 'DO-03', 'DV-16', 'DV-33', 'DV-34p', 'DV-36p', 'PH-S-02', 'PH-S-03', 'SR-05'],
  ]),
  ...because('order: any', [
    ...['BUG-15', 'DV-20', 'DV-21', 'PH-N-01', 'PH-N-04', 'PH-N-05', 'PH-N-08', 'PH-N-09'],
  ]),
  ...because('exclude', [
    ...['DV-12', 'DV-14', 'PH-O-19', 'PH-O-23', 'PH-O-26', 'PH-O-27', 'PH-O-28', 'PH-O-30'],
    ...['PH-O-32', 'PH-O-33', 'PH-O-35'],
  ]),
  ...because('count: attempts, exclude', ['MX-12']),
  ...because('hold', ['AM-06', 'AM-07']),
  ...because('optional', ['PH-O-39']),
  ...because('firstTime', ['PH-O-46']),
  ...because('firstTime, identity merging', ['PH-O-44']),
  ...because('identity merging', ['PH-O-03']),
  ...because('breakdown: last', ['PH-B-02']),
  ...because('breakdown: every', ['PH-B-04']),
}

/** Of these the counts are run, and the times to convert wait for `timeToConvert`. */
export const WAITING_FOR_TIMES: readonly string[] = [
  ...['PH-O-32', 'PH-O-49', 'PH-O-55', 'PH-O-56', 'PH-O-57', 'PH-O-58', 'PH-O-59', 'PH-S-03'],
  'BUG-13',
]

/** The cases that can be run: worked cases, and faults that other systems had. */
export function runnableCases(): FunnelCase[] {
  return rawCases()
    .filter(({ id }) => !(id in WAITING))
    .map(toCase)
}

/** The ids of all cases, and of those that expect times to convert. */
export function caseIds(): { all: string[]; withTimes: string[] } {
  const cases = rawCases()
  const withTimes = cases.filter(({ expectedMeanMs }) => expectedMeanMs !== undefined)
  return { all: cases.map(({ id }) => id), withTimes: withTimes.map(({ id }) => id) }
}

/** Returns the checked form of a request, whatever it counts; fails for a field that it does not know. */
export function specOf({ funnel }: FunnelCase): FunnelSpec {
  const { steps, windowMs, from, to, rangeBounds = 'entry', breakdown, count, ...unknown } = funnel
  assert.deepEqual(unknown, {})
  if (count !== undefined) assert.deepEqual(Object.keys(count), ['property'])
  if (breakdown !== undefined) assert(breakdown.attribution === 'step' && breakdown.step === 1)
  return {
    steps: steps.map(stepOf),
    windowMs,
    entryStartMs: from,
    entryEndMs: to,
    lastEndMs: rangeBounds === 'all' ? to : Infinity,
    breakdown: breakdown
      ? { property: breakdown.property, limit: breakdown.limit ?? BREAKDOWN_LIMIT_DEFAULT }
      : null,
  }
}

/** A case as test/cases holds it: events as [user, event, timeMs, properties], a range only if it matters. */
interface RawCase extends Omit<FunnelCase, 'events' | 'funnel'> {
  readonly events: readonly [string, string, number, Record<string, Value>?][]
  readonly funnel: Omit<FunnelRequest, 'from' | 'to'> & { from?: number; to?: number }
  readonly expectedMeanMs?: readonly (number | null)[]
}

function rawCases(): RawCase[] {
  return ['funnel', 'faults'].flatMap((name) => {
    const file = new URL(`../cases/${name}.json`, import.meta.url)
    return JSON.parse(readFileSync(file, 'utf8')) as RawCase[]
  })
}

function toCase({ id, events, funnel, expected, expectedBreakdown }: RawCase): FunnelCase {
  const times = events.map(([, , timeMs]) => timeMs)
  return {
    id,
    events: events.map(([user, event, timeMs, properties = {}]) => ({
      ...{ user, event, timeMs, properties },
    })),
    funnel: { from: Math.min(0, ...times), to: Math.max(0, ...times) + 1, ...funnel },
    expected,
    ...(expectedBreakdown && { expectedBreakdown }),
  }
}

function stepOf({ event, anyOf, anyEvent, where = [], ...unknown }: StepRequest): Step {
  assert.deepEqual(unknown, {})
  if (anyOf === undefined) {
    assert((event === undefined) === (anyEvent === true))
    return { matchers: [matcherOf(event, where)] }
  }
  assert(event === undefined && anyEvent === undefined)
  return {
    matchers: anyOf.map((one) => {
      if (typeof one === 'string') return matcherOf(one, where)
      assert(one.event !== undefined)
      return matcherOf(one.event, [...(one.where ?? []), ...where])
    }),
  }
}

function matcherOf(
  eventName: string | undefined,
  where: NonNullable<MatcherRequest['where']>,
): EventMatcher {
  const conditions = where.map(({ op = 'eq', ...rest }): Condition => ({ op, ...rest }))
  return { eventName: eventName ?? null, where: conditions }
}

function because(reason: string, ids: readonly string[]): Record<string, string> {
  return Object.fromEntries(ids.map((id) => [id, reason]))
}
