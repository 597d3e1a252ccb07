import { intervalAt } from '../analysis/interval-at.ts'
import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import { DAY_MS, dayOf, MINUTE_MS } from '../event/day.ts'
import { QUARTER_MS } from '../segment/directory.ts'
import type { EventCounts } from '../store/event-counts.ts'
import type { Project } from '../store/projects.ts'
import type { Snapshots } from '../store/snapshots.ts'
import type { CountsQuery } from '../wire/counts-query.ts'
import type { Admission } from './admission.ts'
import type { Freshness } from './freshness.ts'
import { intervalStarts } from './intervals.ts'
import { heldRange } from './raw-events.ts'
import { resolveRange, type Range } from './range.ts'
import { sectionsOf } from './segment-plan.ts'

/** Minutes are counted live for so long. */
const LIVE_MS = 2 * DAY_MS
const MINUTES_RANGE_MS = 60 * MINUTE_MS

export type CountQuestions = ReturnType<typeof openCountQuestions>

/**
 * How often events happened, by interval. Hours and days are exact: the directories of the segments tell the
 * rows of each quarter of an hour, and every time zone's hours begin at one. Minutes are those of the live
 * counters, and approximate.
 */
export function openCountQuestions(dependencies: {
  readonly snapshots: Snapshots
  readonly eventCounts: EventCounts
  readonly freshness: Freshness
  readonly admit: Admission
  readonly queryTimeoutMs: number
  readonly clock: Clock
}) {
  const { snapshots, eventCounts, freshness, admit, queryTimeoutMs, clock } = dependencies

  async function exact(project: Project, query: CountsQuery, starts: readonly number[]) {
    const { projectId, retentionDays } = project
    const { root, asOfMs } = await freshness.view(
      project,
      query.freshness,
      AbortSignal.timeout(queryTimeoutMs),
    )
    const sums = starts.slice(1).map(() => 0)
    const nowMs = clock.nowMs()
    const all = { startMs: starts[0]!, endMs: starts.at(-1)! }
    const range = heldRange(all, retentionDays, nowMs)
    const eventNames = query.event === undefined ? null : [query.event]
    const sections =
      root === null
        ? []
        : await sectionsOf(snapshots, root, { projectId, range, eventNames, history: null, nowMs })
    for (const { section } of sections)
      for (let at = 0; at < section.quarters.length; at += 2) {
        const timeMs = section.day * DAY_MS + section.quarters[at]! * QUARTER_MS
        const index = intervalAt(starts, timeMs)
        if (index !== -1 && timeMs + QUARTER_MS > range.startMs)
          sums[index]! += section.quarters[at + 1]!
      }
    return { sums, asOfMs }
  }

  async function live({ projectId }: Project, event: string, starts: readonly number[]) {
    const sums = starts.slice(1).map(() => 0)
    const asOfMs = clock.nowMs()
    for (let day = dayOf(starts[0]!); day <= dayOf(starts.at(-1)! - 1); day++)
      for (const { minute, count } of await eventCounts.read(projectId, event, day)) {
        const index = intervalAt(starts, day * DAY_MS + minute * MINUTE_MS)
        if (index !== -1) sums[index]! += count
      }
    return { sums, asOfMs }
  }

  async function answer(project: Project, query: CountsQuery) {
    const nowMs = clock.nowMs()
    const timeZone = query.timeZone ?? project.timeZone
    const { interval, event } = query
    const isLive = interval === 'minute'
    const asked = isLive ? withinLive(query, nowMs) : query
    const range = resolveRange(asked, { timeZone, nowMs })
    if (range.startMs === range.endMs)
      return { counts: [], asOf: new Date(nowMs).toISOString(), interval }
    const starts = intervalStarts(range, interval, {
      ...{ path: 'interval', timeZone, weekStart: project.weekStart },
    })
    const { sums, asOfMs } = isLive
      ? await live(project, namedEvent(event), starts)
      : await exact(project, query, starts)
    return {
      counts: sums.map((count, index) => ({
        time: new Date(starts[index]!).toISOString(),
        count,
        approximate: isLive,
      })),
      ...{ asOf: new Date(asOfMs).toISOString(), interval },
    }
  }

  return {
    /**
     * Counts events of the intervals that overlap the range, those without any included. Throws INVALID_QUERY
     * for too many intervals, and for minutes that are not live or of no one event.
     */
    ask: (project: Project, query: CountsQuery) => admit(() => answer(project, query)),
  }
}

function withinLive(query: CountsQuery, nowMs: number): Pick<CountsQuery, 'from' | 'to'> {
  if (query.from === undefined)
    return { ...query, from: new Date(nowMs - MINUTES_RANGE_MS).toISOString() }
  const { startMs }: Range = resolveRange(query, { timeZone: 'UTC', nowMs })
  if (startMs < nowMs - LIVE_MS - DAY_MS)
    throw fault('from', 'minutes are counted for the last two days: ask by hour or day')
  return query
}

function namedEvent(event: string | undefined): string {
  if (event === undefined) throw fault('event', 'minutes are counted by event: name one')
  return event
}

function fault(path: string, message: string): AppError {
  return new AppError('INVALID_QUERY', `${path}: ${message}`, { faults: [{ path, message }] })
}
