import { z } from 'zod'
import { timeZone } from './time-zone.ts'

const moment = z.string().min(1).max(64)

/** How often an event happened, by interval (api.md, `/v1/counts`); parameters of the address. */
export const CountsQuery = z.object({
  event: z.string().min(1).max(200).optional(),
  interval: z.enum(['minute', 'hour', 'day']).default('day'),
  from: moment.optional(),
  to: moment.optional(),
  timeZone: timeZone.optional(),
  freshness: z.enum(['sealed', 'now']).default('sealed'),
})

export type CountsQuery = z.output<typeof CountsQuery>
