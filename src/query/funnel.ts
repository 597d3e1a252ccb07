import type { FunnelSpec } from '../analysis/funnel-spec.ts'
import { declareFunnel, type Funnel } from '../analysis/funnel.ts'
import type { FunnelCounts } from '../analysis/tally.ts'
import type { Clock } from '../clock.ts'
import { sampledShare } from '../event/bucket.ts'
import type { Metrics } from '../metrics.ts'
import type { Project } from '../store/projects.ts'
import type { Snapshots } from '../store/snapshots.ts'
import type { FunnelQuery } from '../wire/funnel-query.ts'
import type { Admission } from './admission.ts'
import type { Freshness, View } from './freshness.ts'
import { foldRows } from './fold-rows.ts'
import { countByOf, definitionOf, presentFunnel, unitOf } from './funnel-answer.ts'
import { funnelRead, rangeOf, type FunnelRead } from './funnel-read.ts'
import type { RawEvents } from './raw-events.ts'
import { resolveRange, type Range } from './range.ts'
import { retriedOnce } from './retried-once.ts'
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

interface RangeAnswer {
  readonly shown: ReturnType<typeof presentFunnel>
  readonly counted: Counted
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
    const { monotonicMs } = clock
    const folded = await foldRows(rawEvents, read, plan, { funnel, monotonicMs })
    const amounts = { ...folded.amounts, cacheHitBytes: 0 }
    return { ...folded, asOfMs, warnings: [], amounts, planMs }
  }

  /** Answers about one range. */
  async function answerRange(
    project: Project,
    query: FunnelQuery,
    { read, spec }: FunnelRead,
  ): Promise<RangeAnswer> {
    const startedMs = clock.monotonicMs()
    const funnel = declareFunnel(spec)
    const counted =
      query.source === 'events'
        ? await countRows(read, { funnel, startedMs })
        : await retriedOnce(async () => {
            const view = await freshness.view(project, query.freshness, read.signal)
            return await countSegments(read, view, { funnel, spec, startedMs })
          })
    metrics.queryEvents.inc(counted.amounts.events)
    const result = funnel.result(counted.counts, 1 / shareOf(query))
    const isRounded = result.timeToConvert?.areExact === false
    return {
      shown: presentFunnel(query, spec, result, counted.asOfMs),
      counted: isRounded ? { ...counted, warnings: [...counted.warnings, TIMES_ROUNDED] } : counted,
    }
  }

  async function answer(project: Project, query: FunnelQuery, gone: AbortSignal) {
    const startedMs = clock.monotonicMs()
    const nowMs = clock.nowMs()
    const moment = {
      nowMs,
      signal: AbortSignal.any([gone, AbortSignal.timeout(queryTimeoutMs)]),
    }
    const range = rangeOf(project, query, nowMs)
    const compared = comparedRange(project, query, range, nowMs)
    // What is wrong with a question is told before anything is read for it.
    const reads = [range, ...(compared === null ? [] : [compared])].map((one) =>
      funnelRead(project, query, one, moment),
    )
    const answers: RangeAnswer[] = []
    for (const read of reads) answers.push(await answerRange(project, query, read))
    const [{ shown, counted }, before] = answers as [RangeAnswer, RangeAnswer?]
    const warnings = answers.flatMap((one) => one.counted.warnings)
    const sum = (of: (counted: Counted) => number) =>
      answers.reduce((all, one) => all + of(one.counted), 0)
    const [planMs, foldMs] = [sum((one) => one.planMs), sum((one) => one.foldMs)]
    const totalMs = clock.monotonicMs() - startedMs
    return {
      ...shown,
      ...(before && { compare: { ...rangeText(compared!), ...before.shown } }),
      unit: unitOf(query),
      asOf: new Date(counted.asOfMs).toISOString(),
      definition: definitionOf(query, range),
      warnings: [...new Set([...warnings, ...sampleWarnings(query)])],
      source: query.source,
      read: {
        partitions: sum((one) => one.amounts.partitions),
        bytes: sum((one) => one.amounts.bytes),
        events: sum((one) => one.amounts.events),
        cacheHitBytes: sum((one) => one.amounts.cacheHitBytes),
      },
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
const TIMES_ROUNDED =
  'so many convert that medians, 90th percentiles and the histogram are told to within 0.1 %; means are exact'

/** Returns the other range that a question asks about; null for none. Throws INVALID_QUERY. */
function comparedRange(
  project: Project,
  { compare, timeZone = project.timeZone }: FunnelQuery,
  { startMs, endMs }: Range,
  nowMs: number,
): Range | null {
  if (compare === null) return null
  if (compare === 'previous') return { startMs: startMs - (endMs - startMs), endMs: startMs }
  return resolveRange(compare, { timeZone, nowMs })
}

function rangeText({ startMs, endMs }: Range) {
  return { from: new Date(startMs).toISOString(), to: new Date(endMs).toISOString() }
}

/** The share of all units that is counted: values are sampled by their own hash, users by their bucket. */
function shareOf(query: FunnelQuery): number {
  return countByOf(query) === null ? sampledShare(query.sample) : query.sample
}

function sampleWarnings(query: FunnelQuery): string[] {
  if (query.sample === 1) return []
  const percent = Math.round(1_000 * shareOf(query)) / 10
  const counted = countByOf(query) === null ? 'users' : 'values'
  return [`counted of ${percent} % of the ${counted}, and scaled: the numbers are estimates`]
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
