import { z } from 'zod'
import { timeZone } from './time-zone.ts'

export const RETENTION_DAYS_MAX = 4_000
const RETENTION_DAYS_DEFAULT = 400

const name = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .refine((text) => text.isWellFormed(), { message: 'half of a surrogate pair' })
const retentionDays = z
  .number()
  .int()
  .min(1)
  .max(RETENTION_DAYS_MAX)
  .meta({ description: 'How long an event is kept after its day.' })
const weekStart = z.number().int().min(1).max(7).meta({ description: 'ISO: 1 Monday to 7 Sunday.' })

/** `weekStart` is the ISO number of a weekday: 1 Monday to 7 Sunday. */
export const NewProject = z.strictObject({
  name,
  timeZone: timeZone.default('UTC'),
  retentionDays: retentionDays.default(RETENTION_DAYS_DEFAULT),
  weekStart: weekStart.default(1),
})

export const ProjectChange = z
  .strictObject({ name, timeZone, retentionDays, weekStart })
  .partial()
  .refine((change) => Object.keys(change).length > 0, { message: 'nothing to change' })

const foreignId = z.string().min(1).max(256)

export const NewKey = z
  .strictObject({
    kind: z.enum(['write', 'read']),
    rights: z.array(z.enum(['erase'])).default([]),
    alsoKnownAs: z
      .array(foreignId)
      .max(20)
      .default([])
      .meta({ description: 'Ids in the shape that a foreign SDK insists on, for this write key.' }),
  })
  .refine(({ kind, rights }) => kind === 'read' || rights.length === 0, {
    path: ['rights'],
    message: 'only a read key can have the right to erase',
  })
  .refine(({ kind, alsoKnownAs }) => kind === 'write' || alsoKnownAs.length === 0, {
    path: ['alsoKnownAs'],
    message: 'only a write key can be known by other ids',
  })
