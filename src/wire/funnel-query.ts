import { z } from 'zod'
import { timeZone } from './time-zone.ts'

const DURATION = /^(\d{1,9})(ms|s|m|h|d|w)$/
const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }
const WINDOW_MS_DEFAULT = 14 * UNIT_MS.d
const STEPS_MAX = 32
const CONDITIONS_MAX = 50
const VALUES_MAX = 1_000
/** A pattern is tried on every value that a property has, and costs more than any other condition. */
export const PATTERNS_MAX = 20
/** Each is tested on every value that its property has. */
const CONDITIONS_IN_ALL_MAX = 1_000
const EXCLUSIONS_MAX = 32
const HELD_MAX = 8
/** How many values a breakdown shows when the question does not say. */
export const BREAKDOWN_LIMIT_DEFAULT = 25

export const eventName = z.string().min(1).max(200)
const propertyPath = z
  .string()
  .min(1)
  .max(256)
  .refine((path) => path.isWellFormed(), { message: 'half of a surrogate pair' })
const scalar = z.union([z.string().max(1_000), z.number(), z.boolean()])

const Condition = z
  .strictObject({
    property: propertyPath,
    op: z
      .enum([
        ...['eq', 'ne', 'in', 'notIn', 'contains', 'notContains', 'startsWith', 'endsWith'],
        ...['matches', 'gt', 'gte', 'lt', 'lte', 'between', 'isSet', 'isNotSet'],
      ] as const)
      .default('eq'),
    value: z
      .union([scalar, z.array(scalar).max(VALUES_MAX), z.null()])
      .optional()
      .meta({
        description:
          'Compared as text unless both are numbers: 1 equals "1". A list for in, notIn and between; null ' +
          'is a missing value.',
      }),
  })
  .meta({
    description: 'What a property of an event, nested ones by dotted path, must be.',
    examples: [{ property: 'path', op: 'eq', value: '/pricing' }],
  })

export const where = z.array(Condition).max(CONDITIONS_MAX).default([])
const Matcher = z.strictObject({ event: eventName, where })
const alternative = z.union([eventName.transform((event) => ({ event, where: [] })), Matcher])

const Step = z
  .strictObject({
    label: z.string().min(1).max(200).optional(),
    event: eventName.optional(),
    anyOf: z.array(alternative).min(1).max(100).optional(),
    anyEvent: z.literal(true).optional(),
    where,
    optional: z
      .boolean()
      .default(false)
      .meta({
        description:
          'A chain may leave it out: a step counts the best chains that have it, and need not have fewer than the ' +
          'step after it. Not the first step, and not in any order.',
      }),
    firstTime: z
      .union([z.boolean(), z.literal('matching')])
      .default(false)
      .meta({
        description:
          "Only the user's first ever event of this name (true), or the first ever that matches the step (matching).",
      }),
  })
  .refine(
    ({ event, anyOf, anyEvent }) =>
      [event, anyOf, anyEvent].filter((part) => part !== undefined).length === 1,
    { message: 'give exactly one of event, anyOf and anyEvent' },
  )
  .meta({ description: 'Exactly one of event, anyOf and anyEvent.' })

const stepNumber = z.number().int().min(1).max(STEPS_MAX)

const Exclusion = z
  .strictObject({
    event: eventName,
    where,
    afterStep: stepNumber.default(1),
    beforeStep: stepNumber.optional().meta({ description: 'The step after afterStep by default.' }),
  })
  .transform(({ afterStep, beforeStep = afterStep + 1, ...matcher }) => ({
    ...{ ...matcher, afterStep, beforeStep },
  }))
  .meta({
    description:
      'An entry is void if each of its furthest chains meets such an event after the one step and before the other ' +
      '(or, where it never gets there, before its window ends); at a tie the step wins. An optional step that is left ' +
      'out is passed with the next one. The best entry that is not void counts. In any order: strictly between the first and the last event, so that sets end before it.',
  })

const trend = z
  .enum(['none', 'hour', 'day', 'week', 'month'])
  .nullable()
  .default(null)
  .transform((interval) => (interval === 'none' ? null : interval))
  .meta({
    description:
      'The funnel of each interval of entries, in timeZone. Those whose windows are not over are marked as open.',
  })

const duration = z
  .string()
  .regex(DURATION, { message: 'a duration, such as 30m, 12h or 14d' })
  .meta({ description: '14d by default. Its end is included.', examples: ['7d', '30m'] })
  .transform((text) => {
    const [, count, unit] = DURATION.exec(text)!
    return Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]
  })

/** A day, meant in the question's time zone, or a moment: ISO 8601 with a zone, or ms since 1970. */
export const moment = z.union([z.string().max(64), z.number().int()]).meta({
  description:
    'A date, meant as the start of that day in timeZone, ISO 8601 with a zone, or milliseconds since 1970. ' +
    'The default is the last 30 days.',
  examples: ['2026-11-01'],
})

const compare = z
  .union([z.enum(['none', 'previous']), z.strictObject({ from: moment, to: moment }), z.null()])
  .default(null)
  .transform((asked) => (asked === 'none' ? null : asked))
  .meta({ description: 'The same question of the range before, as long, or of another range.' })

const breakdown = z
  .strictObject({
    property: propertyPath,
    attribution: z
      .enum(['first', 'last', 'step', 'every'])
      .default('first')
      .meta({
        description:
          'The first value among the events of the chain, the last one, the one at a step; or every: a funnel for ' +
          'each value, of the events that have it.',
      }),
    step: stepNumber.default(1).meta({ description: 'For the attribution step.' }),
    limit: z
      .number()
      .int()
      .min(1)
      .max(1_000)
      .default(BREAKDOWN_LIMIT_DEFAULT)
      .meta({ description: 'Values shown by name, those with the most at step 1 first.' }),
  })
  .nullable()
  .default(null)

const count = z
  .union([z.enum(['users', 'attempts', 'sessions']), z.strictObject({ property: propertyPath })])
  .default('users')
  .meta({
    description:
      'The unit: users; attempts (a running one swallows further entries); sessions, within which all steps are ' +
      '(of one sessionId, else ended by 30 minutes of silence); or the values of a property, across users: accounts, ' +
      'session ids. Values that read alike are one; events without the property are ignored.',
    examples: [{ property: 'org' }],
  })

const rangeBounds = z.enum(['entry', 'all']).default('entry').meta({
  description:
    "entry: a chain's first event is in the range, and later ones may fall after it. all: they all are.",
})

const order = z
  .enum(['ordered', 'strict', 'any'])
  .default('ordered')
  .meta({
    description:
      'strict: no other event of that user strictly between two steps in time; a repeat of the step just reached ' +
      'is no other event. any: step i counts who has i distinct steps, by distinct events within one window of ' +
      'the earliest.',
  })

const entry = z
  .enum(['best', 'first'])
  .default('best')
  .meta({ description: 'The best chain over all entries, or of the first entry in the range.' })

const freshness = z
  .enum(['sealed', 'now'])
  .default('sealed')
  .meta({ description: 'now: all that was acknowledged before the question is counted.' })

const source = z
  .enum(['segments', 'events'])
  .default('segments')
  .meta({ description: 'events: from the raw rows, slowly; a check.' })

/** The fields of a funnel, and what holds between them. */
export const FunnelFields = z
  .strictObject({
    steps: z.array(Step).min(1).max(STEPS_MAX),
    window: duration.optional(),
    windowMs: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
    from: moment.optional(),
    to: moment.optional(),
    timeZone: timeZone.optional(),
    ...{ rangeBounds, order, entry },
    exclude: z.array(Exclusion).max(EXCLUSIONS_MAX).default([]),
    count,
    hold: z
      .array(propertyPath)
      .max(HELD_MAX)
      .default([])
      .meta({
        description:
          'Properties that must be equal through a chain: the unit becomes (user, values). Events without one of them ' +
          'are ignored.',
      }),
    ...{ breakdown, trend, compare },
    timeToConvert: z
      .boolean()
      .default(false)
      .meta({
        description:
          'Median, mean and 90th percentile, for each step from the one before it in the chain and in all, and a ' +
          'histogram of the latter. Of more than 250,000 times quantiles and histogram are told to within 0.1 %.',
      }),
    sample: z.number().gt(0).max(1).default(1).meta({
      description:
        'Of users, by hash of their ids: a share of them is counted, and the counts are scaled.',
    }),
    ...{ freshness, source },
  })
  .refine(({ steps, exclude }) => patternCountOf([...steps, ...exclude]) <= PATTERNS_MAX, {
    path: ['steps'],
    message: `at most ${PATTERNS_MAX} conditions by matches`,
  })
  .refine(
    ({ steps, exclude }) => conditionsOf([...steps, ...exclude]).length <= CONDITIONS_IN_ALL_MAX,
    { path: ['steps'], message: `at most ${CONDITIONS_IN_ALL_MAX} conditions in all` },
  )
  .refine(({ window, windowMs }) => window === undefined || windowMs === undefined, {
    path: ['window'],
    message: 'give one of window and windowMs',
  })
  .refine(({ steps }) => steps[0]?.optional !== true, {
    path: ['steps', 0, 'optional'],
    message: 'a chain begins with the first step: it cannot be left out',
  })
  .refine(({ steps, order }) => order !== 'any' || steps.every(({ optional }) => !optional), {
    path: ['order'],
    message: 'in any order every step counts: none is optional',
  })
  .refine(({ steps, breakdown }) => breakdown === null || breakdown.step <= steps.length, {
    path: ['breakdown', 'step'],
    message: 'the funnel has fewer steps',
  })
  .refine(
    ({ steps, exclude }) =>
      exclude.every((one) => one.afterStep < one.beforeStep && one.beforeStep <= steps.length),
    { path: ['exclude'], message: 'afterStep comes before beforeStep, and both are steps' },
  )

export const FUNNEL_EXAMPLE = {
  steps: [
    { event: 'page_view', where: [{ property: 'path', value: '/pricing' }] },
    { anyOf: ['add_to_cart', 'quick_buy'] },
    { event: 'purchase' },
  ],
  ...{ window: '7d', from: '2026-11-01', to: '2026-12-01' },
  breakdown: { property: 'country' },
}

/** Makes the window, however it was told, milliseconds. */
export function withWindowMs<Query extends z.output<typeof FunnelFields>>({
  window,
  windowMs,
  ...query
}: Query) {
  return { ...query, windowMs: windowMs ?? window ?? WINDOW_MS_DEFAULT }
}

/** A funnel as it is asked (api.md, "Funnel"). */
export const FunnelQuery = FunnelFields.transform(withWindowMs).meta({ examples: [FUNNEL_EXAMPLE] })

export type FunnelQuery = z.output<typeof FunnelQuery>

interface Conditioned {
  readonly where: readonly z.output<typeof Condition>[]
  readonly anyOf?: readonly Pick<Conditioned, 'where'>[] | undefined
}

function conditionsOf(parts: readonly Conditioned[]): Conditioned['where'][number][] {
  return parts.flatMap(({ where, anyOf = [] }) => [
    ...where,
    ...anyOf.flatMap((alternative) => alternative.where),
  ])
}

function patternCountOf(parts: readonly Conditioned[]): number {
  return conditionsOf(parts).filter(({ op }) => op === 'matches').length
}
