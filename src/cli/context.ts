import type { Config } from '../config.ts'

/**
 * How a command ends: done, failed, used wrongly, done but for some lines that were refused, or ended by
 * Ctrl-C.
 */
export const EXIT = { ok: 0, failed: 1, usage: 2, someRefused: 3, interrupted: 130 } as const

/** What a command knows of the process that it runs in. */
export interface CommandContext {
  readonly loadConfig: () => Config
  /** To stdout: what was asked for. */
  readonly print: (text: string) => void
  /** To stderr: what people should know beside it. */
  readonly printError: (text: string) => void
  /** Whether people watch stderr. */
  readonly isTerminal: boolean
  /** From the call on, SIGINT and SIGTERM abort what is returned instead of ending the process. */
  readonly interruption: () => AbortSignal
  readonly exitWith: (code: number) => void
}
