import {
  declareFunnel,
  eventNamesOf,
  propertiesOf,
  type Funnel,
  type FunnelCounts,
  type FunnelSpec,
} from '../analysis/funnel.ts'
import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import type { Metrics } from '../metrics.ts'
import type { Project } from '../store/projects.ts'
import type { Snapshots } from '../store/snapshots.ts'
import type { FunnelQuery } from '../wire/funnel-query.ts'
import type { Admission } from './admission.ts'
import type { Freshness, View } from './freshness.ts'
import { countByOf, definitionOf, presentFunnel } from './funnel-answer.ts'
import { specOf } from './funnel-spec.ts'
import { heldRange, type RawEvents } from './raw-events.ts'
import { resolveRange, type Range } from './range.ts'
import type { SegmentRead } from './segment-plan.ts'
import type { Segments } from './segments.ts'
import { openShare } from './share.ts'

/** What was counted, and at what cost. */
interface Counted {
  readonly counts: FunnelCounts
  readonly asOfMs: number
  readonly warnings: readonly string[]
  readonly amounts: {
    readonly partitions: number
    readonly bytes: number
    readonly events: number
    readonly cacheHitBytes: number
  }
  readonly planMs: number
  readonly foldMs: number
}

export type FunnelQuestions = ReturnType<typeof openFunnelQuestions>
export type FunnelAnswer = Awaited<ReturnType<FunnelQuestions['ask']>>

/** The way of a funnel: resolve, plan, read and fold, present. */
export function openFunnelQuestions(dependencies: {
  readonly sources: {
    readonly rawEvents: RawEvents
    readonly segments: Segments
    readonly freshness: Freshness
    readonly snapshots: Snapshots
  }
  readonly admit: Admission
  readonly queryTimeoutMs: number
  readonly clock: Clock
  readonly metrics: Metrics
}) {
  const { sources, admit, queryTimeoutMs, clock, metrics } = dependencies
  const { rawEvents, segments, freshness, snapshots } = sources
  const share = openShare<Awaited<ReturnType<typeof answer>>>(clock.monotonicMs)

  async function countSegments(
    read: SegmentRead,
    view: View,
    { funnel, spec, startedMs }: { funnel: Funnel; spec: FunnelSpec; startedMs: number },
  ): Promise<Counted> {
    const { root, asOfMs } = view
    const none = { partitions: 0, bytes: 0, events: 0, cacheHitBytes: 0 }
    if (root === null) {
      const planMs = clock.monotonicMs() - startedMs
      return { counts: funnel.empty(), asOfMs, warnings: [], amounts: none, planMs, foldMs: 0 }
    }
    const plan = await segments.plan(root, read)
    const planMs = clock.monotonicMs() - startedMs
    const question = { analysis: 'funnel', spec } as const
    const { counts, amounts } = await segments.fold(read, plan, { funnel, question })
    const { foldMs, ...rest } = amounts
    const warnings = plan.isCut ? [PROPERTIES_CUT] : []
    return { counts, asOfMs, warnings, amounts: rest, planMs, foldMs }
  }

  async function countRows(
    read: SegmentRead,
    { funnel, startedMs }: { funnel: Funnel; startedMs: number },
  ): Promise<Counted> {
    // Rows are written before their events are acknowledged: what was acknowledged by now is counted.
    const asOfMs = clock.nowMs()
    const plan = await rawEvents.plan(read)
    const planMs = clock.monotonicMs() - startedMs
    let counts = funnel.empty()
    let foldMs = 0
    const scan = read.countBy === null ? rawEvents.forEachBucket : rawEvents.forAllBuckets
    const amounts = await scan(read, plan, ({ days, userCount }) => {
      const foldStartMs = clock.monotonicMs()
      const group = funnel.openGroup(userCount)
      for (const day of days) group.fold(day)
      counts = funnel.merge(counts, group.close())
      foldMs += clock.monotonicMs() - foldStartMs
    })
    const all = { ...amounts, cacheHitBytes: 0 }
    return { counts, asOfMs, warnings: [], amounts: all, planMs, foldMs }
  }

  async function answer(project: Project, query: FunnelQuery, gone: AbortSignal) {
    const signal = AbortSignal.any([gone, AbortSignal.timeout(queryTimeoutMs)])
    const startedMs = clock.monotonicMs()
    const nowMs = clock.nowMs()
    const timeZone = query.timeZone ?? project.timeZone
    const range = resolveRange(query, { timeZone, nowMs })
    const spec = specOf(query, range)
    const funnel = declareFunnel(spec)
    const countBy = countByOf(query)
    const read = {
      projectId: project.projectId,
      range: heldRange(readRangeOf(spec), project.retentionDays, nowMs),
      ...{ eventNames: eventNamesOf(spec), history: null, sample: 1 },
      ...neededProperties(spec, countBy),
      nowMs,
      signal,
    }
    const isRaw = query.source === 'events'
    // What is older or newer than can be held is not there, whether or not it still is.
    const held = heldSpec(spec, read.range)
    const counted = isRaw
      ? await countRows(read, { funnel, startedMs })
      : await retriedOnce(async () => {
          const view = await freshness.view(project, query.freshness, signal)
          const asked = { funnel, spec: held, startedMs }
          return await countSegments(read, view, asked)
        })
    metrics.queryEvents.inc(counted.amounts.events)
    const totalMs = clock.monotonicMs() - startedMs
    const { planMs, foldMs } = counted
    return {
      ...presentFunnel(query, funnel.result(counted.counts)),
      unit: countBy ?? 'users',
      asOf: new Date(counted.asOfMs).toISOString(),
      definition: definitionOf(query, range),
      warnings: counted.warnings,
      source: query.source,
      read: counted.amounts,
      tookMs: {
        plan: round(planMs),
        read: round(Math.max(0, totalMs - planMs - foldMs)),
        fold: round(foldMs),
        total: round(totalMs),
      },
    }
  }

  return {
    /** Answers a funnel. Throws INVALID_QUERY, QUERY_TOO_LARGE, OVERLOADED, or CANCELLED once `gone` is aborted. */
    async ask(project: Project, query: FunnelQuery, gone: AbortSignal) {
      const run = (signal: AbortSignal) => admit(() => answer(project, query, signal))
      // What is to be of now cannot have been begun before.
      if (query.freshness === 'now') return { ...(await run(gone)), ageMs: 0 }
      // An answer of before an erasure stands for no question of after it.
      const { root } = await snapshots.root(project.projectId)
      const key = JSON.stringify([project, query, root?.erased ?? null])
      const shared = await share(key, gone, run)
      return { ...shared.answer, ageMs: round(shared.ageMs) }
    },
  }
}

const PROPERTIES_CUT =
  'an event name has more properties than columns: ask with source "events" to have them all'

/** Tries again where an object was deleted on the way: what is published now leads to others. */
export async function retriedOnce<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'DATA_DAMAGED') throw error
    return await work()
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
export function readRangeOf({ entryStartMs, entryEndMs, lastEndMs, windowMs }: FunnelSpec): Range {
  return { startMs: entryStartMs, endMs: Math.min(lastEndMs, entryEndMs + windowMs) }
}

export function heldSpec(spec: FunnelSpec, { startMs, endMs }: Range): FunnelSpec {
  return {
    ...spec,
    entryStartMs: Math.max(spec.entryStartMs, startMs),
    lastEndMs: Math.min(spec.lastEndMs, endMs),
  }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
