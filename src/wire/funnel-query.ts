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
    // These two come with the rest of the funnel; until then nobody is answered something else.
    optional: z.literal(false).optional(),
    firstTime: z.literal(false).optional(),
  })
  .refine(
    ({ event, anyOf, anyEvent }) =>
      [event, anyOf, anyEvent].filter((part) => part !== undefined).length === 1,
    { message: 'give exactly one of event, anyOf and anyEvent' },
  )
  .meta({ description: 'Exactly one of event, anyOf and anyEvent.' })

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

/** The fields of a funnel, and what holds between them. */
export const FunnelFields = z
  .strictObject({
    steps: z.array(Step).min(1).max(STEPS_MAX),
    window: duration.optional(),
    windowMs: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
    from: moment.optional(),
    to: moment.optional(),
    timeZone: timeZone.optional(),
    rangeBounds: z.enum(['entry', 'all']).default('entry'),
    order: z.literal('ordered').default('ordered'),
    entry: z.literal('best').default('best'),
    exclude: z.array(z.never()).max(0).default([]),
    count: z
      .union([z.literal('users'), z.strictObject({ property: propertyPath })])
      .default('users')
      .meta({
        description:
          'The unit: users, or the values of a property, across users: accounts, session ids. Values that read ' +
          'alike are one; events without the property are ignored.',
        examples: [{ property: 'org' }],
      }),
    hold: z.array(z.never()).max(0).default([]),
    breakdown: z
      .strictObject({
        property: propertyPath,
        attribution: z.enum(['first', 'step']).default('first'),
        step: z.literal(1).optional(),
        limit: z.number().int().min(1).max(1_000).default(25),
      })
      .nullable()
      .default(null),
    trend: z.null().default(null),
    compare: z.null().default(null),
    timeToConvert: z.literal(false).default(false),
    sample: z.literal(1).default(1),
    freshness: z.enum(['sealed', 'now']).default('sealed'),
    source: z.enum(['segments', 'events']).default('segments'),
  })
  .refine(({ steps }) => patternCountOf(steps) <= PATTERNS_MAX, {
    path: ['steps'],
    message: `at most ${PATTERNS_MAX} conditions by matches`,
  })
  .refine(({ window, windowMs }) => window === undefined || windowMs === undefined, {
    path: ['window'],
    message: 'give one of window and windowMs',
  })

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

/**
 * A funnel as it is asked (api.md, "Funnel"). What this version cannot answer yet is refused by name, so
 * that no question is answered as if it were another.
 */
export const FunnelQuery = FunnelFields.transform(withWindowMs).meta({ examples: [FUNNEL_EXAMPLE] })

export type FunnelQuery = z.output<typeof FunnelQuery>

function patternCountOf(steps: readonly z.output<typeof Step>[]): number {
  const conditions = steps.flatMap(({ where, anyOf = [] }) => [
    ...where,
    ...anyOf.flatMap((alternative) => alternative.where),
  ])
  return conditions.filter(({ op }) => op === 'matches').length
}
