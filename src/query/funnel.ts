import {
  declareFunnel,
  eventNamesOf,
  propertiesOf,
  type FunnelCounts,
  type FunnelSpec,
} from '../analysis/funnel.ts'
import { conditionFault, type Condition } from '../analysis/condition.ts'
import type { FunnelResult } from '../analysis/funnel-result.ts'
import type { Step } from '../analysis/step-mask.ts'
import type { Clock } from '../clock.ts'
import { DAY_MS } from '../event/day.ts'
import { AppError, type QueryFault } from '../error.ts'
import type { Metrics } from '../metrics.ts'
import type { Project } from '../store/projects.ts'
import type { FunnelQuery } from '../wire/funnel-query.ts'
import type { Admission } from './admission.ts'
import { heldRange, type RawEvents } from './raw-events.ts'
import { resolveRange, type Range } from './range.ts'

export type FunnelQuestions = ReturnType<typeof openFunnelQuestions>
export type FunnelAnswer = Awaited<ReturnType<FunnelQuestions['ask']>>

/** The way of a funnel: resolve, plan, read and fold bucket by bucket, present. */
export function openFunnelQuestions(dependencies: {
  readonly rawEvents: RawEvents
  readonly admit: Admission
  readonly queryTimeoutMs: number
  readonly clock: Clock
  readonly metrics: Metrics
}) {
  const { rawEvents, admit, queryTimeoutMs, clock, metrics } = dependencies

  async function answer(project: Project, query: FunnelQuery, gone: AbortSignal) {
    const signal = AbortSignal.any([gone, AbortSignal.timeout(queryTimeoutMs)])
    const startedMs = clock.monotonicMs()
    // Rows are written before their events are acknowledged: what was acknowledged by now is counted.
    const asOfMs = clock.nowMs()
    const timeZone = query.timeZone ?? project.timeZone
    const range = resolveRange(query, { timeZone, nowMs: asOfMs })
    const spec = specOf(query, range)
    const funnel = declareFunnel(spec)

    const read = {
      projectId: project.projectId,
      range: heldRange(readRangeOf(spec), project.retentionDays, asOfMs),
      eventNames: eventNamesOf(spec),
      properties: propertiesOf(spec),
      signal,
    }
    const plan = await rawEvents.plan(read)
    const plannedMs = clock.monotonicMs()

    let counts: FunnelCounts = funnel.empty()
    let foldMs = 0
    const amounts = await rawEvents.forEachBucket(read, plan, ({ columns, userCount }) => {
      const foldStartMs = clock.monotonicMs()
      const group = funnel.openGroup(userCount)
      group.fold(columns)
      counts = funnel.merge(counts, group.close())
      foldMs += clock.monotonicMs() - foldStartMs
    })
    metrics.queryEvents.inc(amounts.events)

    const totalMs = clock.monotonicMs() - startedMs
    return {
      ...present(query, funnel.result(counts)),
      unit: 'users',
      asOf: new Date(asOfMs).toISOString(),
      definition: definitionOf(query, range),
      warnings: [],
      source: 'events',
      read: { ...amounts, cacheHitBytes: 0 },
      tookMs: {
        plan: round(plannedMs - startedMs),
        read: round(totalMs - (plannedMs - startedMs) - foldMs),
        fold: round(foldMs),
        total: round(totalMs),
      },
    }
  }

  return {
    /** Answers a funnel. Throws INVALID_QUERY, QUERY_TOO_LARGE, OVERLOADED, or CANCELLED once `gone` is aborted. */
    async ask(project: Project, query: FunnelQuery, gone: AbortSignal) {
      return await admit(() => answer(project, query, gone))
    },
  }
}

function specOf(query: FunnelQuery, { startMs, endMs }: Range): FunnelSpec {
  const { windowMs, rangeBounds, breakdown } = query
  return {
    steps: stepsOf(query),
    windowMs,
    entryStartMs: startMs,
    entryEndMs: endMs,
    lastEndMs: rangeBounds === 'all' ? endMs : Infinity,
    breakdown: breakdown === null ? null : { property: breakdown.property, limit: breakdown.limit },
  }
}

function stepsOf({ steps }: FunnelQuery): Step[] {
  const faults: QueryFault[] = []
  const conditionsOf = (where: QueryStep['where'], path: string) =>
    where.map((asked, index) => {
      const condition = conditionOf(asked)
      const message = conditionFault(condition)
      if (message !== null) faults.push({ path: `${path}.${index}`, message })
      return condition
    })
  const checkedSteps = steps.map((step, index) => {
    const common = conditionsOf(step.where, `steps.${index}.where`)
    const alternatives = step.anyOf ?? [{ event: step.event ?? null, where: [] }]
    return {
      matchers: alternatives.map(({ event, where }, at) => ({
        eventName: event,
        where: [...common, ...conditionsOf(where, `steps.${index}.anyOf.${at}.where`)],
      })),
    }
  })
  const [first] = faults
  if (first === undefined) return checkedSteps
  throw new AppError('INVALID_QUERY', `${first.path}: ${first.message}`, { faults })
}

type QueryStep = FunnelQuery['steps'][number]

// A null is a missing value, in a question as in an event.
function conditionOf({ property, op, value }: QueryStep['where'][number]): Condition {
  if (value === null && op === 'eq') return { property, op: 'isNotSet' }
  if (value === null && op === 'ne') return { property, op: 'isSet' }
  return { property, op, value: value ?? undefined }
}

/** The times of events that can matter: an entry lies before the end, a later step within its window. */
function readRangeOf({ entryStartMs, entryEndMs, lastEndMs, windowMs }: FunnelSpec): Range {
  return { startMs: entryStartMs, endMs: Math.min(lastEndMs, entryEndMs + windowMs) }
}

function present(query: FunnelQuery, { steps, breakdown }: FunnelResult) {
  const labelled = (counted: FunnelResult['steps']) =>
    counted.map((step, index) => ({
      label: labelOf(query.steps[index]!),
      ...step,
      medianMs: null,
      meanMs: null,
    }))
  return {
    steps: labelled(steps),
    ...(breakdown === null
      ? {}
      : {
          breakdown: breakdown.map((part) => ({ value: part.value, steps: labelled(part.steps) })),
        }),
  }
}

function labelOf({ label, event, anyOf }: QueryStep): string {
  if (label !== undefined) return label
  if (anyOf !== undefined) return anyOf.map((alternative) => alternative.event).join(' or ')
  return event ?? 'any event'
}

function definitionOf({ windowMs, rangeBounds, breakdown }: FunnelQuery, range: Range): string {
  const [start, end] = [range.startMs, range.endMs].map((ms) => new Date(ms).toISOString())
  const later = rangeBounds === 'all' ? 'and so are later steps' : 'while later steps may be later'
  const split =
    breakdown === null ? '' : `, split by ${breakdown.property} at the first step of that chain`
  return (
    `Users by their longest chain of distinct events in step order, all within ${durationText(windowMs)} ` +
    `of the chain's first event, which is from ${start} to before ${end}, ${later}${split}.`
  )
}

/** In the largest unit that divides it. */
function durationText(durationMs: number): string {
  const units = [
    [DAY_MS, 'days'],
    [3_600_000, 'hours'],
    [60_000, 'minutes'],
    [1_000, 'seconds'],
  ] as const
  const [unitMs, unit] = units.find(([ms]) => durationMs % ms === 0) ?? [1, 'milliseconds']
  return `${durationMs / unitMs} ${unit}`
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
