import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Clock } from '../clock.ts'

const POLL_MS = 50
const KILL_TIMEOUT_MS = 5_000
const HAS_PROC = existsSync('/proc/self/stat')

/** One process, told from a later one that got the same number. */
export interface ProcessIdentity {
  readonly pid: number
  /** When it started, in the kernel's ticks since boot; null where there is no /proc. */
  readonly startTicks: number | null
}

/** Returns the identity of a process that runs now; null when there is none, or only its remains. */
export async function identityOf(pid: number): Promise<ProcessIdentity | null> {
  if (!HAS_PROC) return answersSignals(pid) ? { pid, startTicks: null } : null
  const stat = await contentOf(`/proc/${pid}/stat`)
  if (stat === null) return null
  // The second field is the program's name in parentheses, and may itself hold any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const isDead = fields[0] === 'Z' || fields[0] === 'X'
  return isDead ? null : { pid, startTicks: Number(fields[19]) }
}

export async function isAlive({ pid, startTicks }: ProcessIdentity): Promise<boolean> {
  const now = await identityOf(pid)
  return now !== null && now.startTicks === startTicks
}

/** Returns the arguments of a process, each with a space behind it; empty when there is none. */
export async function commandLineOf(pid: number): Promise<string> {
  if (HAS_PROC) {
    const commandLine = await contentOf(`/proc/${pid}/cmdline`)
    return commandLine?.replaceAll('\0', ' ') ?? ''
  }
  const listed = promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)])
  return listed.then(
    ({ stdout }) => `${stdout.trim()} `,
    () => '', // ps fails when it finds nothing.
  )
}

/** Returns the processes of this machine; none where there is no /proc to tell. */
export async function allPids(): Promise<number[]> {
  if (!HAS_PROC) return []
  const names = await readdir('/proc')
  return names.filter((name) => /^\d+$/.test(name)).map(Number)
}

/** Waits until a condition holds; returns whether it came to hold in time. */
export async function holdsWithin(
  condition: () => Promise<boolean>,
  { timeoutMs, pollMs = POLL_MS, clock }: { timeoutMs: number; pollMs?: number; clock: Clock },
): Promise<boolean> {
  const giveUpAtMs = clock.monotonicMs() + timeoutMs
  while (!(await condition())) {
    if (clock.monotonicMs() > giveUpAtMs) return false
    await sleep(pollMs)
  }
  return true
}

/** Ends a process: asks it to, and after `timeoutMs` makes it. Returns when it is gone. */
export async function stopProcess(
  identity: ProcessIdentity,
  { timeoutMs, clock }: { timeoutMs: number; clock: Clock },
): Promise<void> {
  const isGone = async () => !(await isAlive(identity))
  if (await isGone()) return
  signal(identity.pid, 'SIGTERM')
  if (await holdsWithin(isGone, { timeoutMs, clock })) return
  signal(identity.pid, 'SIGKILL')
  if (await holdsWithin(isGone, { timeoutMs: KILL_TIMEOUT_MS, clock })) return
  throw new Error(`process ${identity.pid} outlives SIGKILL`)
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error // ESRCH: it ended meanwhile.
  }
}

function answersSignals(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === 'EPERM' // It lives, and is another user's.
  }
}

/** Returns what a file holds; null when there is no such file. */
export async function contentOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    // ESRCH: a file of /proc whose process ended while it was read.
    if (['ENOENT', 'ESRCH'].includes(codeOf(error))) return null
    throw error
  }
}

/** Returns the system's name for a failure, such as ENOENT; empty for other errors. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
