import type { CodedColumn, Run } from './columns.ts'

/** Which positions of a fold group are left out: 1 at each of them. */
export type LeftOut = Uint8Array

/** Returns a run without the rows of some users: itself where it has none of them, else a copy. */
export function leaveOut(run: Run, leftOut: LeftOut): Run {
  const { user, timeMs } = run
  const kept: number[] = []
  for (let row = 0; row < run.rowCount; row++) if (leftOut[user[row]!] === 0) kept.push(row)
  if (kept.length === run.rowCount) return run
  const properties = new Map<string, CodedColumn>()
  for (const [path, { codes, values }] of run.properties)
    properties.set(path, { codes: picked(codes, kept), values })
  return {
    eventName: run.eventName,
    rowCount: kept.length,
    timeMs: picked(timeMs, kept),
    user: picked(user, kept),
    properties,
  }
}

function picked<T extends CodedColumn['codes']>(column: T, rows: readonly number[]): T {
  const copy = column.slice(0, rows.length) as T
  for (const [index, row] of rows.entries()) copy[index] = column[row]!
  return copy
}
