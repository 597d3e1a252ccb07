import assert from 'node:assert'
import type { DayRuns } from '../segment/columns.ts'
import { openChains } from './chain.ts'
import type { Chain } from './chain-path.ts'
import { DAY_MS, openDayRows } from './day-rows.ts'
import { openDays } from './days.ts'
import { FUNNEL_STEPS_MAX, isPlain, type FunnelSpec } from './funnel-spec.ts'
import { below, bitOf, highestStep } from './step-bits.ts'
import { openTextCodes } from './text-codes.ts'
import { openUserChains, type ChainPart } from './user-chains.ts'
import { openUserRows } from './user-rows.ts'

/** Which of a funnel's users are asked for. */
export interface UsersAsked {
  readonly spec: FunnelSpec
  /** From 1; from 2 where `outcome` is `dropped`. */
  readonly step: number
  /** Those whose chain has the step, or those whose chain ends with the last step before it that none leaves out. */
  readonly outcome: 'converted' | 'dropped'
  /**
   * Only users whose value of the breakdown is among `texts` (null: a missing one), or only those whose value
   * is not. Null: all users.
   */
  readonly values: {
    readonly texts: readonly (string | null)[]
    readonly areAmong: boolean
  } | null
}

/** A user by position within the fold group, and when the chain that counts had its first step and the one asked for. */
export interface ReachedUser {
  readonly user: number
  /** A user may be listed for several attempts, sessions or values: which one of this user's it is, from 0. */
  readonly ordinal: number
  readonly enteredMs: number
  readonly reachedMs: number
}

/** Where a list goes on. */
export type AfterUser = Pick<ReachedUser, 'user' | 'ordinal'>

export interface FunnelUsersGroup {
  /** Takes the events of a day, as `FunnelGroup` does. They are looked at again by `close`. */
  readonly fold: (day: DayRuns) => void
  /** Returns the first `limit` after one (null: from the first on), by user and ordinal. The last call. */
  readonly close: (after: AfterUser | null, limit: number) => ReachedUser[]
}

export interface FunnelUsers {
  /** Opens a fold group: positions 0 to `userCount` - 1, all events of each user in this group. */
  readonly openGroup: (userCount: number) => FunnelUsersGroup
}

/** Finds the users behind a bar of a funnel: exactly those that `declareFunnel` counts there. */
export function declareFunnelUsers(asked: UsersAsked): FunnelUsers {
  const { spec, values } = asked
  const texts = openTextCodes()
  const rowsByUser = openUserRows(spec, texts)
  const chainsOf = openUserChains(spec, texts, true)
  const reachedMs = openBar(asked)
  const named = new Set(values?.texts)
  const flagsOf = isPlain(spec) ? openFlags(asked) : null

  const isOfBar = (code: number, { isOfWhole, isOfValue }: ChainPart): boolean =>
    values === null ? isOfWhole : isOfValue && named.has(texts.texts[code]!) === values.areAmong

  return {
    openGroup(userCount) {
      const days = openDays()
      const flags = flagsOf?.(userCount) ?? null
      return {
        fold(runs) {
          days.add(runs)
          flags?.fold(runs)
        },
        close(after, limit) {
          const wanted = flags?.close() ?? new Uint8Array(userCount).fill(1)
          if (after !== null) wanted.fill(0, 0, after.user)
          // Of those whose chains are known to be of the bar no more are looked at than are listed.
          if (flags !== null && values === null) keepFirst(wanted, limit + (after === null ? 0 : 1))
          const found: ReachedUser[] = []
          rowsByUser(days.close(), userCount, wanted, (user, rows, from, to) => {
            let ordinal = 0
            chainsOf(rows, from, to, (chain, code, part) => {
              const atMs = isOfBar(code, part) ? reachedMs(chain) : null
              if (atMs === null) return
              const isLater = user !== after?.user || ordinal > after.ordinal
              if (isLater) found.push({ user, ordinal, enteredMs: chain.entryMs, reachedMs: atMs })
              ordinal++
            })
            return found.length < limit
          })
          return found.slice(0, limit)
        },
      }
    },
  }
}

/** Returns when a chain had the step that the outcome is about; null where it is not of the bar. */
function openBar({ spec, step, outcome }: UsersAsked): (chain: Chain) => number | null {
  const { steps, order } = spec
  assert(steps.length <= FUNNEL_STEPS_MAX && step >= 1 && step <= steps.length)
  const asked = bitOf(step - 1)
  if (outcome === 'converted')
    return ({ taken, timeMs }) => ((taken & asked) === 0 ? null : timeMs[step - 1]!)
  assert(step >= 2)
  let before = step - 2
  while (order !== 'any' && steps[before]!.isOptional) before--
  return ({ taken, timeMs }) => {
    const isOf = (taken & ~below(step - 1)) === 0 && (taken & bitOf(before)) !== 0
    return isOf ? timeMs[highestStep(taken)]! : null
  }
}

/** Finds, for plain questions, which users are of the bar whatever their value: by how far each comes. */
function openFlags({ spec, step, outcome }: UsersAsked) {
  const chains = openChains({ stepCount: spec.steps.length, windowMs: spec.windowMs })
  const dayRows = openDayRows(spec, null)
  return (userCount: number) => {
    const state = chains.open(userCount)
    return {
      fold(runs: DayRuns): void {
        const { span, entries } = dayRows.read(runs)
        chains.fold(state, { rows: dayRows.rows, span, entries }, runs.day * DAY_MS)
      },
      close(): Uint8Array {
        const flags = chains
          .furthest(state)
          .map((count) => Number(outcome === 'converted' ? count >= step : count === step - 1))
        chains.release(state)
        return flags
      },
    }
  }
}

/** Clears all flags but the first `count` that are set. */
function keepFirst(flags: Uint8Array, count: number): void {
  let left = count
  for (let user = 0; user < flags.length; user++)
    if (flags[user] === 1 && left-- <= 0) flags[user] = 0
}
