import { pino, type Logger } from 'pino'

export type { Logger }

/** Structured lines on stderr, without personal data: no user ids, no properties, no keys. */
export function openLog(level: string): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pino.destination({ dest: 2, sync: true }),
  )
}
