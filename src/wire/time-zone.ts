import { z } from 'zod'

/** The name of a time zone that this machine knows. */
export const timeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, { message: 'an IANA time zone, such as Europe/Berlin' })
  .meta({ description: 'IANA name', examples: ['Europe/Berlin'] })

function isTimeZone(value: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: value }) !== undefined
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}
