import { z } from 'zod'
import { FUNNEL_EXAMPLE, FunnelFields, withWindowMs } from './funnel-query.ts'

export const FUNNEL_USERS_MAX = 1_000
const CURSOR_LENGTH_MAX = 1_000

/** A question for the users behind a bar of a funnel. */
export const FunnelUsersQuery = FunnelFields.safeExtend({
  // The others are no users, and have no ids to tell.
  // A list is as long as its bar, and not an estimate.
  sample: z.literal(1).default(1),
  step: z.number().int().min(1).meta({ description: 'From 1; from 2 for those who dropped.' }),
  outcome: z.enum(['converted', 'dropped']).meta({
    description:
      'converted: users whose best chain has this step. dropped: those whose best chain ends with the one ' +
      'before it.',
  }),
  breakdownValue: z.string().optional().meta({
    description:
      'Only users whom the breakdown counts under this value, or under "$none" or "$other", as it is shown.',
  }),
  limit: z
    .number()
    .int()
    .min(1)
    .max(FUNNEL_USERS_MAX)
    .default(100)
    .meta({ description: 'Users a page.' }),
  cursor: z
    .string()
    .min(1)
    .max(CURSOR_LENGTH_MAX)
    .optional()
    .meta({
      description:
        'From the page before, with the same question. All pages are of the moment of the first one; they can ' +
        'be asked for during 45 minutes.',
    }),
})
  .refine(({ step, steps }) => step <= steps.length, {
    path: ['step'],
    message: 'the funnel has fewer steps',
  })
  .refine(({ step, outcome }) => outcome === 'converted' || step >= 2, {
    path: ['step'],
    message: 'nobody drops at step 1: ask for those who dropped at step 2',
  })
  .refine(({ breakdown, breakdownValue }) => breakdownValue === undefined || breakdown !== null, {
    path: ['breakdownValue'],
    message: 'only with a breakdown',
  })
  .transform(withWindowMs)
  .meta({
    examples: [
      { ...FUNNEL_EXAMPLE, step: 2, outcome: 'dropped', breakdownValue: 'DE', limit: 100 },
    ],
  })

export type FunnelUsersQuery = z.output<typeof FunnelUsersQuery>
