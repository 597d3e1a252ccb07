import { z } from 'zod'
import { eventName, moment, PATTERNS_MAX, where } from './funnel-query.ts'
import { timeZone } from './time-zone.ts'

export const SEARCH_EVENTS_MAX = 1_000
const NAMES_MAX = 100
const USER_ID_LENGTH_MAX = 300
const CURSOR_LENGTH_MAX = 200

/** A search for stored events (api.md, `/v1/events/search`). */
export const SearchQuery = z
  .strictObject({
    from: moment.optional(),
    to: moment.optional(),
    timeZone: timeZone.optional(),
    event: z
      .union([eventName.transform((name) => [name]), z.array(eventName).min(1).max(NAMES_MAX)])
      .optional()
      .meta({ description: 'A name, or several of which any will do; all where it is left out.' }),
    userId: z
      .union([
        z.string().min(1).max(USER_ID_LENGTH_MAX),
        z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).transform(String),
      ])
      .optional()
      .meta({
        description: 'As answers tell it: anon: and the anonymous id where there is no other.',
      }),
    where,
    limit: z.number().int().min(1).max(SEARCH_EVENTS_MAX).default(100).meta({
      description: 'Events a page, at most: a page may have fewer, or none, and a cursor.',
    }),
    cursor: z
      .string()
      .min(1)
      .max(CURSOR_LENGTH_MAX)
      .optional()
      .meta({ description: 'From the page before, with the same question.' }),
  })
  .refine(({ where: conditions }) => patternCountOf(conditions) <= PATTERNS_MAX, {
    path: ['where'],
    message: `at most ${PATTERNS_MAX} conditions by matches`,
  })
  .meta({
    examples: [
      {
        ...{ from: '2026-11-01', to: '2026-12-01', event: 'purchase' },
        ...{ where: [{ property: 'price', op: 'gte', value: 100 }], limit: 100 },
      },
    ],
  })

export type SearchQuery = z.output<typeof SearchQuery>

function patternCountOf(conditions: z.output<typeof where>): number {
  return conditions.filter(({ op }) => op === 'matches').length
}
