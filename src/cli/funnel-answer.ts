import { z } from 'zod'

const ms = z.number().nullable()
const times = { medianMs: ms, meanMs: ms, p90Ms: ms }

const FunnelSteps = z.array(
  z.object({
    label: z.string(),
    users: z.number(),
    fromPrevious: z.number(),
    fromFirst: z.number(),
    ...times,
  }),
)

const FunnelRange = z.object({
  steps: FunnelSteps,
  breakdown: z.array(z.object({ value: z.string(), steps: FunnelSteps })).default([]),
  trend: z.array(z.object({ from: z.string(), steps: FunnelSteps, open: z.boolean() })).default([]),
  timeToConvert: z.object(times).optional(),
  histogram: z
    .array(z.object({ fromMs: z.number(), toMs: z.number(), users: z.number() }))
    .default([]),
})

/** What is drawn of the answer to a funnel (wire/schemas.ts). */
export const FunnelAnswer = FunnelRange.extend({
  compare: FunnelRange.extend({ from: z.string(), to: z.string() }).optional(),
  unit: z.string(),
  definition: z.string(),
  asOf: z.string(),
  warnings: z.array(z.string()),
  read: z.object({ partitions: z.number(), events: z.number() }),
  tookMs: z.object({ total: z.number() }),
})

export type FunnelAnswer = z.output<typeof FunnelAnswer>
export type FunnelRange = z.output<typeof FunnelRange>
export type FunnelSteps = z.output<typeof FunnelSteps>
