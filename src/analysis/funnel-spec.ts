import { SESSION_ID_PATH } from '../segment/columns.ts'
import type { EventMatcher, Step } from './step-mask.ts'

export const FUNNEL_STEPS_MAX = 32
/** An exclusion is a bit, too. */
export const EXCLUSIONS_MAX = 32

export interface FunnelStep extends Step {
  /** A chain may go on without it. Never the first. */
  readonly isOptional: boolean
  /**
   * Only the user's first ever event of the step's names satisfies it (`event`), or the first ever that satisfies the
   * step (`matching`). Null: any event does.
   */
  readonly firstTime: 'event' | 'matching' | null
}

/** What a chain must not meet after it has one step and before it has another. Steps by index. */
export interface Exclusion {
  readonly matchers: readonly EventMatcher[]
  readonly afterStep: number
  readonly beforeStep: number
}

export interface FunnelBreakdown {
  readonly property: string
  /**
   * Where a chain's value is taken from: its first event that has one, its last that has one, its event of step
   * `step`; or `every`: each value has a funnel of its own, of the events that have it.
   */
  readonly attribution: 'first' | 'last' | 'step' | 'every'
  /** By index; meaningful with `step`. */
  readonly step: number
  /** So many values are shown by name. */
  readonly limit: number
}

/**
 * A funnel in checked form. Events before `entryStartMs`, and from `lastEndMs` on, do not exist for it (but for
 * `firstTime`, which looks at what was before); a chain's first event is before `entryEndMs` as well. All ends are
 * excluded, but for the window's.
 */
export interface FunnelSpec {
  /** 1 to 32. */
  readonly steps: readonly FunnelStep[]
  readonly windowMs: number
  readonly entryStartMs: number
  readonly entryEndMs: number
  /** `entryEndMs` where the range bounds all steps; Infinity where it bounds the entry only. */
  readonly lastEndMs: number
  readonly order: 'ordered' | 'strict' | 'any'
  /** Which entries are tried: all, or the first one in the range. */
  readonly entry: 'best' | 'first'
  readonly exclude: readonly Exclusion[]
  /** What is counted of a user: whether there is a chain, each attempt, or each session. */
  readonly count: 'users' | 'attempts' | 'sessions'
  /** Properties that must be equal through a chain; events without one of them are ignored. */
  readonly hold: readonly string[]
  readonly breakdown: FunnelBreakdown | null
  /** When the intervals of entries begin, ascending, and when the last one ends. */
  readonly trendStartsMs: readonly number[] | null
  readonly timeToConvert: boolean
}

/** What a funnel is when the question says nothing else. */
export const PLAIN = {
  ...{ order: 'ordered', entry: 'best', exclude: [], count: 'users', hold: [] },
  ...{ breakdown: null, trendStartsMs: null, timeToConvert: false },
} as const satisfies Partial<FunnelSpec>

/** What a step is when the question names nothing but events. */
export const PLAIN_STEP = { isOptional: false, firstTime: null } as const

/**
 * Whether chains need not be looked at one by one: counting how far each user comes is enough, but for users whose
 * entries do not all hold one value of a breakdown.
 */
export function isPlain(spec: FunnelSpec): boolean {
  const { breakdown } = spec
  const isByFirst =
    breakdown === null ||
    breakdown.attribution === 'first' ||
    (breakdown.attribution === 'step' && breakdown.step === 0)
  return (
    isByFirst &&
    spec.order === 'ordered' &&
    spec.entry === 'best' &&
    spec.count === 'users' &&
    spec.exclude.length === 0 &&
    spec.hold.length === 0 &&
    spec.trendStartsMs === null &&
    !spec.timeToConvert &&
    spec.steps.every(({ isOptional, firstTime }) => !isOptional && firstTime === null)
  )
}

/** Whether events matter that are neither steps nor excluded. */
export function needsEveryEvent({ order, count }: FunnelSpec): boolean {
  return order === 'strict' || count === 'sessions'
}

/** Returns the names of the events that matter, each once; null where any can. */
export function eventNamesOf(spec: FunnelSpec): string[] | null {
  if (needsEveryEvent(spec)) return null
  return namesOf([...spec.steps, ...spec.exclude])
}

/** Returns the names whose events matter from before the range, too: null for any. Undefined: none does. */
export function historyNamesOf({ steps }: FunnelSpec): string[] | null | undefined {
  const first = steps.filter(({ firstTime }) => firstTime !== null)
  return first.length === 0 ? undefined : namesOf(first)
}

/** Returns the paths of the properties that the runs must have, each once; or only those of one name's runs. */
export function propertiesOf(spec: FunnelSpec, ofName?: string): string[] {
  const { steps, exclude, breakdown, hold, count, order } = spec
  const matchersOf = (step: Step) =>
    step.matchers.filter(
      ({ eventName }) => ofName === undefined || eventName === null || eventName === ofName,
    )
  const matchers = [...steps, ...exclude].flatMap(matchersOf)
  const paths = matchers.flatMap(({ where }) => where.map(({ property }) => property))
  // In any order any event may be the one that is asked about.
  const isOfOneStep = breakdown?.attribution === 'step' && order !== 'any'
  const valued = isOfOneStep ? [steps[breakdown.step]!] : steps
  if (breakdown !== null && valued.some((step) => matchersOf(step).length > 0))
    paths.push(breakdown.property)
  if (matchers.length > 0 || order === 'strict') paths.push(...hold)
  if (count === 'sessions') paths.push(SESSION_ID_PATH)
  return [...new Set(paths)]
}

function namesOf(steps: readonly Step[]): string[] | null {
  const names = new Set<string>()
  for (const { matchers } of steps)
    for (const { eventName } of matchers) {
      if (eventName === null) return null
      names.add(eventName)
    }
  return [...names]
}
