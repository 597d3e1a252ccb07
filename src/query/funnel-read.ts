import {
  eventNamesOf,
  historyNamesOf,
  propertiesOf,
  type FunnelSpec,
} from '../analysis/funnel-spec.ts'
import { DAY_MS } from '../event/day.ts'
import type { Project } from '../store/projects.ts'
import type { FunnelQuery } from '../wire/funnel-query.ts'
import { countByOf } from './funnel-answer.ts'
import { specOf } from './funnel-spec.ts'
import { heldRange } from './raw-events.ts'
import { resolveRange, type Range } from './range.ts'
import type { SegmentRead } from './segment-plan.ts'

/** What a funnel folds, and what it reads for it. */
export interface FunnelRead {
  readonly range: Range
  readonly spec: FunnelSpec
  readonly read: SegmentRead
}

/** Returns the range that a question asks about. Throws INVALID_QUERY. */
export function rangeOf(project: Project, query: FunnelQuery, nowMs: number): Range {
  return resolveRange(query, { timeZone: query.timeZone ?? project.timeZone, nowMs })
}

/** Decides what a question reads of a range. Throws INVALID_QUERY. */
export function funnelRead(
  project: Project,
  query: FunnelQuery,
  range: Range,
  { nowMs, signal }: { readonly nowMs: number; readonly signal: AbortSignal },
): FunnelRead {
  const { projectId, retentionDays, weekStart } = project
  const timeZone = query.timeZone ?? project.timeZone
  const whole = specOf(query, range, { timeZone, weekStart })
  // What is older or newer than can be held is not there, whether or not it still is.
  const held = heldRange(readRangeOf(whole), retentionDays, nowMs)
  const spec = {
    ...whole,
    entryStartMs: Math.max(whole.entryStartMs, held.startMs),
    lastEndMs: Math.min(whole.lastEndMs, held.endMs),
  }
  const historyNames = historyNamesOf(spec)
  return {
    ...{ range, spec },
    read: {
      ...{ projectId, range: held, eventNames: eventNamesOf(spec), sample: query.sample },
      history:
        historyNames === undefined
          ? null
          : { startMs: nowMs - retentionDays * DAY_MS, eventNames: historyNames },
      ...neededProperties(spec, countByOf(query)),
      ...{ nowMs, signal },
    },
  }
}

/** What a question reads of properties. */
export function neededProperties(
  spec: FunnelSpec,
  countBy: string | null,
): Pick<SegmentRead, 'properties' | 'propertiesFor' | 'countBy'> {
  const withCounted = (paths: readonly string[]) =>
    countBy === null ? paths : [...new Set([...paths, countBy])]
  const byName = new Map<string, readonly string[]>()
  return {
    countBy,
    properties: withCounted(propertiesOf(spec)),
    propertiesFor(eventName) {
      let known = byName.get(eventName)
      if (known === undefined)
        byName.set(eventName, (known = withCounted(propertiesOf(spec, eventName))))
      return known
    },
  }
}

/** The times of events that can matter: an entry lies before the end, a later step within its window. */
function readRangeOf({ entryStartMs, entryEndMs, lastEndMs, windowMs }: FunnelSpec): Range {
  return { startMs: entryStartMs, endMs: Math.min(lastEndMs, entryEndMs + windowMs) }
}
