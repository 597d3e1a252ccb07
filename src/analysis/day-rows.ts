import type { DayRuns, Run } from '../segment/columns.ts'
import { growRows, mergeRuns, openRows, type Rows, type Span } from './merge-runs.ts'
import { ALL_STEPS } from './step-bits.ts'
import { compileSteps, copyCells, writeMasks, type RunMask, type Step } from './step-mask.ts'
import type { TextCodes } from './text-codes.ts'

/** Milliseconds of a UTC day: a run's times are below it. */
export const DAY_MS = 86_400_000

const ENTRY = 1
const ALL_BUT_ENTRY = ~1

/** What a funnel takes of the events. Ends are excluded; see `FunnelSpec`. */
export interface RowSelection {
  readonly steps: readonly Step[]
  readonly entryStartMs: number
  readonly entryEndMs: number
  readonly lastEndMs: number
}

/** Rows of a run that are entries and no other step; read where they lie, if all of a part are. */
export interface EntryRun extends Span {
  readonly timeMs: Uint32Array
  readonly user: Uint16Array
}

const NO_ENTRIES: EntryRun = {
  ...{ timeMs: new Uint32Array(0), user: new Uint16Array(0), from: 0, to: 0 },
}

export interface DayRows {
  readonly rows: Rows
  /**
   * Puts the events of a day that satisfy any step into `rows`, in time order, and tells where they are.
   * What was there before is lost. The longest part of a run whose rows can be no step but the entry is told apart.
   */
  readonly read: (day: DayRuns) => { readonly span: Span; readonly entries: EntryRun }
  /**
   * Calls `note` for spans of `rows`, with the codes of the breakdown: all entries of a day, and with `areLaterAsked`
   * all other steps that may hold a value, in no order.
   */
  readonly readValues: (
    day: DayRuns,
    areLaterAsked: boolean,
    note: (rows: Rows, span: Span) => void,
  ) => void
}

/** What is left of a run within the range: rows that may be entries, and rows that cannot. */
interface Part extends Span {
  readonly run: Run
  readonly mask: RunMask
  readonly steps: number
}

/** Opens the way from runs to rows. With `breakdown` the rows can have the codes of its property. */
export function openDayRows(
  selection: RowSelection,
  breakdown: { readonly property: string; readonly texts: TextCodes } | null,
): DayRows {
  const { entryStartMs, entryEndMs, lastEndMs } = selection
  const maskOf = compileSteps(selection.steps)
  const hasLaterStep = selection.steps.length > 1
  const entryRunOf = openEntryRuns()
  const rows = openRows()

  function partsOf({ day, runs }: DayRuns): Part[] {
    const startMs = day * DAY_MS
    const parts: Part[] = []
    for (const run of runs) {
      const mask = maskOf(run)
      if (mask.possible === 0) continue
      const to = firstRowAt(run, lastEndMs - startMs)
      const from = Math.min(firstRowAt(run, entryStartMs - startMs), to)
      const entryTo = Math.min(Math.max(firstRowAt(run, entryEndMs - startMs), from), to)
      for (const part of [
        { run, mask, from, to: entryTo, steps: ALL_STEPS },
        { run, mask, from: entryTo, to, steps: ALL_BUT_ENTRY },
      ])
        if (part.to > part.from && (mask.possible & part.steps) !== 0) parts.push(part)
    }
    return parts
  }

  /** Writes the codes of a part's rows. */
  function copyCodes({ run, from, to }: Part): void {
    const column = run.properties.get(breakdown!.property)
    if (column === undefined) rows.code.fill(0, 0, to - from)
    else {
      copyCells(column.codes, from, to, rows.code, 0)
      breakdown!.texts.recode(column.values, rows.code, { from: 0, to: to - from })
    }
  }

  /** Appends a part of a run to the rows before `at`; returns the end. */
  function append({ run, mask, steps, ...part }: Part, at: number): number {
    const end = at + part.to - part.from
    growRows(rows, end)
    copyCells(run.timeMs, part.from, part.to, rows.timeMs, at)
    copyCells(run.user, part.from, part.to, rows.user, at)
    if (mask.lookups.length === 0) {
      rows.mask.fill(mask.plain & steps, at, end)
      return end
    }
    writeMasks(mask, part, rows.mask, at, rows.source)
    return keepSteps(rows, { from: at, to: end }, steps)
  }

  return {
    rows,

    read(day) {
      const parts = partsOf(day)
      const longest = hasLaterStep ? longestOfEntries(parts) : null
      const spans: Span[] = []
      let at = 0
      for (const part of parts) {
        if (part === longest) continue
        const end = append(part, at)
        if (end > at) spans.push({ from: at, to: end })
        at = end
      }
      const span = mergeRuns(rows, spans)
      return { span, entries: longest === null ? NO_ENTRIES : entryRunOf(longest) }
    },

    readValues(day, areLaterAsked, note) {
      for (const part of partsOf(day)) {
        const { run, mask, steps, from, to } = part
        const mayBeEntry = (mask.possible & steps & ENTRY) !== 0
        if (!mayBeEntry && !(areLaterAsked && run.properties.has(breakdown!.property))) continue
        growRows(rows, to - from)
        copyCells(run.user, from, to, rows.user, 0)
        copyCodes(part)
        if (mask.lookups.length === 0) rows.mask.fill(mask.plain & steps, 0, to - from)
        else {
          writeMasks(mask, { from, to }, rows.mask, 0, rows.source)
          if (steps !== ALL_STEPS)
            for (let row = 0; row < to - from; row++) rows.mask[row]! &= steps
        }
        note(rows, { from: 0, to: to - from })
      }
    },
  }
}

function longestOfEntries(parts: readonly Part[]): Part | null {
  let longest: Part | null = null
  for (const part of parts) {
    const { mask, steps, run } = part
    const isOfEntries = (mask.possible & steps) === ENTRY && run.user instanceof Uint16Array
    if (isOfEntries && (longest === null || part.to - part.from > longest.to - longest.from))
      longest = part
  }
  return longest
}

/** Finds the entries of a part: where they lie, or picked out into arrays that are used again. */
function openEntryRuns(): (part: Part) => EntryRun {
  let timeMs = new Uint32Array(0)
  let user = new Uint16Array(0)
  let masks = new Uint32Array(0)
  let codes = new Uint32Array(0)
  return ({ run, mask, from, to }) => {
    const all = { timeMs: run.timeMs, user: run.user as Uint16Array, from, to }
    if (mask.lookups.length === 0) return all
    if (timeMs.length < to - from) {
      const size = 2 * (to - from)
      timeMs = new Uint32Array(size)
      user = new Uint16Array(size)
      masks = new Uint32Array(size)
      codes = new Uint32Array(size)
    }
    writeMasks(mask, all, masks, 0, codes)
    return { timeMs, user, from: 0, to: pickEntries(all, masks, timeMs, user) }
  }
}

/** Copies the rows whose mask has the entry; returns how many. */
function pickEntries(
  { timeMs, user, from, to }: EntryRun,
  masks: Uint32Array,
  times: Uint32Array,
  users: Uint16Array,
): number {
  let end = 0
  for (let row = from; row < to; row++) {
    times[end] = timeMs[row]!
    users[end] = user[row]!
    end += masks[row - from]! & ENTRY
  }
  return end
}

/**
 * Clears all bits but those of `steps` and drops the rows of a span that are left with none. Returns the
 * span's new end.
 */
function keepSteps(rows: Rows, { from, to }: Span, steps: number): number {
  const { timeMs, user, mask } = rows
  let end = from
  for (let row = from; row < to; row++) {
    const kept = mask[row]! & steps
    timeMs[end] = timeMs[row]!
    user[end] = user[row]!
    mask[end] = kept
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
