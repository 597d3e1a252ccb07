import assert from 'node:assert'
import type { DayRuns } from '../segment/columns.ts'

/** Keeps days that are to be looked at again. */
export function openDays() {
  const days: DayRuns[] = []
  let lastDay = -Infinity
  return {
    add(runs: DayRuns): void {
      assert(runs.day > lastDay, 'days in ascending order, before the group is closed')
      lastDay = runs.day
      days.push(runs)
    },
    close(): readonly DayRuns[] {
      lastDay = Infinity
      return days
    },
  }
}
