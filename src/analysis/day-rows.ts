import type { DayRuns, Run } from '../segment/columns.ts'
import { growRows, mergeRuns, openRows, type Rows, type Span } from './merge-runs.ts'
import { compileSteps, copyCells, writeMasks, type RunMask, type Step } from './step-mask.ts'
import type { TextCodes } from './text-codes.ts'

/** Milliseconds of a UTC day: a run's times are below it. */
export const DAY_MS = 86_400_000

const ALL_STEPS = -1
const ALL_BUT_ENTRY = ~1

/** What a funnel takes of the events. Ends are excluded; see `FunnelSpec`. */
export interface RowSelection {
  readonly steps: readonly Step[]
  readonly entryStartMs: number
  readonly entryEndMs: number
  readonly lastEndMs: number
}

export interface DayRows {
  readonly rows: Rows
  /**
   * Puts the events of a day that satisfy any step into `rows`, in time order, and tells where they are.
   * What was there before is lost.
   */
  readonly read: (day: DayRuns) => Span
}

/** Opens the way from runs to rows. With `breakdown` the rows have the codes of its property. */
export function openDayRows(
  selection: RowSelection,
  breakdown: { readonly property: string; readonly texts: TextCodes } | null,
): DayRows {
  const { entryStartMs, entryEndMs, lastEndMs } = selection
  const maskOf = compileSteps(selection.steps)
  const rows = openRows()

  /** Appends a part of a run to the rows before `at`; returns the end. */
  function append(run: Run, mask: RunMask, part: Span, steps: number, at: number): number {
    const possible = mask.possible & steps
    const end = at + part.to - part.from
    if (possible === 0 || end <= at) return at
    growRows(rows, end)
    copyCells(run.timeMs, part.from, part.to, rows.timeMs, at)
    copyCells(run.user, part.from, part.to, rows.user, at)
    if (breakdown !== null) {
      const column = run.properties.get(breakdown.property)
      if (column === undefined || (possible & 1) === 0) rows.code.fill(0, at, end)
      else {
        copyCells(column.codes, part.from, part.to, rows.code, at)
        breakdown.texts.recode(column.values, rows.code, { from: at, to: end })
      }
    }
    if (mask.lookups.length === 0) {
      rows.mask.fill(mask.plain & steps, at, end)
      return end
    }
    writeMasks(mask, part, rows.mask, at, rows.source)
    return keepSteps(rows, { from: at, to: end }, steps)
  }

  return {
    rows,
    read({ day, runs }) {
      const startMs = day * DAY_MS
      const spans: Span[] = []
      let at = 0
      for (const run of runs) {
        const mask = maskOf(run)
        if (mask.possible === 0) continue
        const to = firstRowAt(run, lastEndMs - startMs)
        const from = Math.min(firstRowAt(run, entryStartMs - startMs), to)
        const entryTo = Math.min(Math.max(firstRowAt(run, entryEndMs - startMs), from), to)
        const afterEntries = append(run, mask, { from, to: entryTo }, ALL_STEPS, at)
        const end = append(run, mask, { from: entryTo, to }, ALL_BUT_ENTRY, afterEntries)
        if (end > at) spans.push({ from: at, to: end })
        at = end
      }
      return mergeRuns(rows, spans, breakdown !== null)
    },
  }
}

/**
 * Clears all bits but those of `steps` and drops the rows of a span that are left with none. Returns the
 * span's new end.
 */
export function keepSteps(rows: Rows, { from, to }: Span, steps: number): number {
  const { timeMs, user, mask, code } = rows
  let end = from
  for (let row = from; row < to; row++) {
    const kept = mask[row]! & steps
    timeMs[end] = timeMs[row]!
    user[end] = user[row]!
    mask[end] = kept
    code[end] = code[row]!
    end += Number(kept !== 0)
  }
  return end
}

/** Returns a run's first row whose time of the day is `atMs` or later; its row count where there is none. */
function firstRowAt({ timeMs, rowCount }: Run, atMs: number): number {
  if (atMs <= 0) return 0
  if (atMs >= DAY_MS) return rowCount
  let low = 0
  let high = rowCount
  while (low < high) {
    const middle = (low + high) >>> 1
    if (timeMs[middle]! < atMs) low = middle + 1
    else high = middle
  }
  return low
}
