import type { CodedColumn, Run } from './columns.ts'
import { FOLD_GROUP_USERS } from './place.ts'

/** Which positions of a fold group are left out: 1 at each of them. */
export type LeftOut = Uint8Array

/** Leaves out the users of a fold group that are not sampled. `sampled` has 1 at each sampled bucket of its read group. */
export function leftOutOfSample(foldGroup: number, sampled: Uint8Array): LeftOut {
  const leftOut = new Uint8Array(FOLD_GROUP_USERS)
  // Positions go round the buckets of the read group (place.ts).
  let bucket = (foldGroup * FOLD_GROUP_USERS) % sampled.length
  for (let position = 0; position < FOLD_GROUP_USERS; position++) {
    leftOut[position] = 1 - sampled[bucket]!
    if (++bucket === sampled.length) bucket = 0
  }
  return leftOut
}

/** Returns a run without the rows of some users: itself where it has none of them, else a copy. */
export function leaveOut(run: Run, leftOut: LeftOut): Run {
  const { user, timeMs, rowCount } = run
  const rows = new Uint32Array(rowCount)
  let keptCount = 0
  // Without a branch, which would be guessed wrong every other row.
  for (let row = 0; row < rowCount; row++) {
    rows[keptCount] = row
    keptCount += 1 - leftOut[user[row]!]!
  }
  if (keptCount === rowCount) return run
  const kept = rows.subarray(0, keptCount)
  const properties = new Map<string, CodedColumn>()
  for (const [path, { codes, values }] of run.properties)
    properties.set(path, { codes: picked(codes, kept), values })
  return {
    eventName: run.eventName,
    rowCount: keptCount,
    timeMs: picked(timeMs, kept),
    user: picked(user, kept),
    properties,
  }
}

function picked<T extends CodedColumn['codes']>(column: T, rows: Uint32Array): T {
  const copy = column.slice(0, rows.length) as T
  for (let at = 0; at < rows.length; at++) copy[at] = column[rows[at]!]!
  return copy
}
