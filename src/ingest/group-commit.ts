import { AppError } from '../error.ts'
import type { Event } from '../event/event.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { BLOCK_BYTES_MAX, blockBytesOf, encodeBlock } from '../segment/block.ts'
import type { Arrivals } from '../store/arrivals.ts'
import { untilStored } from '../store/retry.ts'
import type { RowWriter } from '../store/row-writer.ts'
import type { Writer } from './writer.ts'

export const COMMIT_EVENTS_MAX = 1_000
const BLOCK_HEADER_BYTES = 64
/** A commit that has been tried for so long means that Cassandra is away: what comes is shed at once. */
const STALLED_MS = 3_000

export interface CommitProject {
  readonly projectId: string
  readonly retentionDays: number
}

export interface GroupCommitLimits {
  readonly lingerMs: number
  readonly commitsInFlightMax: number
  readonly pendingEventsMax: number
  readonly pendingBytesMax: number
}

/** What a request waits for: all of its events, in one commit or several. */
interface Ticket {
  open: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

interface Entry {
  readonly event: Event
  readonly bytes: number
  readonly ticket: Ticket
}

interface Queue {
  /** As last seen: its retention may change while the queue is never empty. */
  project: CommitProject
  entries: Entry[]
  bytes: number
  readonly dueMs: number
}

export type GroupCommit = ReturnType<typeof openGroupCommit>

/**
 * Gathers the events that arrive within a few milliseconds, per project, and stores them together: first
 * their block (the commit point), then their rows, and only then are they acknowledged.
 */
export function openGroupCommit(dependencies: {
  readonly storage: { writer: Writer; arrivals: Arrivals; rows: RowWriter }
  readonly limits: GroupCommitLimits
  readonly metrics: Metrics
  readonly log: Logger
  readonly monotonicMs: () => number
}) {
  const { storage, limits, metrics, log, monotonicMs } = dependencies
  const { writer, arrivals, rows } = storage
  const queues = new Map<string, Queue>()
  const commitStarts = new Set<{ readonly startMs: number }>()
  const givenUp = new AbortController()
  const retry = { signal: givenUp.signal, onRetry: () => metrics.ingestRetries.inc() }
  let pendingEvents = 0
  let pendingBytes = 0
  let isClosing = false
  let timer: NodeJS.Timeout | null = null
  let onIdle: (() => void) | null = null

  /** The way of a commit. A number whose writer fell silent may be voided, so it is done under another. */
  async function store(project: CommitProject, events: readonly Event[]): Promise<void> {
    const block = encodeBlock(events)
    const { projectId } = project
    for (let areRowsWhole = false; ;) {
      const endBlock = metrics.ingestCommit.startTimer({ part: 'block' })
      const number = await untilStored(() => writer.take(projectId), retry)
      try {
        const { writer: writerId, sequence } = number
        const arrival = { projectId, writer: writerId, sequence, block }
        await untilStored(() => arrivals.append(arrival), retry)
        endBlock()
        if (!areRowsWhole) {
          const endRows = metrics.ingestCommit.startTimer({ part: 'rows' })
          await rows.write(project, events, givenUp.signal)
          endRows()
          areRowsWhole = true
        }
      } catch (error) {
        number.abandon()
        throw error
      }
      number.setRowsWhole()
      if (number.isLive()) return
    }
  }

  async function commit(project: CommitProject, entries: readonly Entry[]): Promise<void> {
    const start = { startMs: monotonicMs() }
    commitStarts.add(start)
    const endTimer = metrics.ingestCommit.startTimer({ part: 'all' })
    metrics.ingestCommitEvents.observe(entries.length)
    try {
      await store(
        project,
        entries.map(({ event }) => event),
      )
      for (const { ticket } of entries) if (--ticket.open === 0) ticket.resolve()
    } catch (error) {
      for (const { ticket } of entries) ticket.reject(error)
    } finally {
      endTimer()
      commitStarts.delete(start)
      setPending(-entries.length, -bytesOf(entries))
      pump()
    }
  }

  /** Starts what is due, as many commits as may be in flight, one project after the other. */
  function pump(): void {
    for (const [projectId, queue] of queues) {
      if (commitStarts.size >= limits.commitsInFlightMax) return
      if (!isDue(queue)) continue
      const entries = cut(queue)
      queues.delete(projectId)
      if (queue.entries.length > 0) queues.set(projectId, queue)
      // Rejections are told to the tickets; the commit itself never rejects.
      void commit(queue.project, entries)
    }
    if (queues.size > 0) timer ??= setTimeout(onTimer, limits.lingerMs)
    else if (commitStarts.size === 0) onIdle?.()
  }

  function onTimer(): void {
    timer = null
    pump()
  }

  function isDue(queue: Queue): boolean {
    return (
      isClosing ||
      queue.bytes >= BLOCK_BYTES_MAX - BLOCK_HEADER_BYTES ||
      queue.entries.length >= COMMIT_EVENTS_MAX ||
      monotonicMs() >= queue.dueMs - 1 // A timer may be a fraction early.
    )
  }

  function queueOf(project: CommitProject): Queue {
    const { projectId } = project
    const known = queues.get(projectId)
    if (known !== undefined) return Object.assign(known, { project })
    const queue = { project, entries: [], bytes: 0, dueMs: monotonicMs() + limits.lingerMs }
    queues.set(projectId, queue)
    return queue
  }

  function setPending(events: number, bytes: number): void {
    pendingEvents += events
    pendingBytes += bytes
    metrics.ingestPending.set(pendingEvents)
  }

  function assertRoom(events: number, bytes: number): void {
    const [oldest] = commitStarts
    if (isClosing) throw new AppError('OVERLOADED', 'the service is stopping')
    if (oldest !== undefined && monotonicMs() - oldest.startMs > STALLED_MS)
      throw new AppError('STORE_UNAVAILABLE', 'Cassandra does not take events at the moment')
    if (
      pendingEvents + events > limits.pendingEventsMax ||
      pendingBytes + bytes > limits.pendingBytesMax
    )
      throw new AppError('OVERLOADED', 'too many events are waiting to be stored')
  }

  return {
    /**
     * Resolves when all of the events are durable. Throws OVERLOADED or STORE_UNAVAILABLE at once, with
     * nothing taken, when too much is waiting or Cassandra is away. `prepare` runs before the events are
     * queued, and counts as waiting too.
     */
    async add(
      project: CommitProject,
      events: readonly Event[],
      prepare: () => Promise<void>,
    ): Promise<void> {
      const sizes = events.map(blockBytesOf)
      const bytes = sizes.reduce((sum, size) => sum + size, 0)
      assertRoom(events.length, bytes)
      setPending(events.length, bytes)
      try {
        await prepare()
      } catch (error) {
        setPending(-events.length, -bytes)
        throw error
      }
      await new Promise<void>((resolve, reject) => {
        const ticket = { open: events.length, resolve, reject }
        const queue = queueOf(project)
        for (const [index, event] of events.entries())
          queue.entries.push({ event, bytes: sizes[index]!, ticket })
        queue.bytes += bytes
        pump()
      })
    },

    /** Stores what was taken in. What `giveUp` ends is not acknowledged, so its sender sends it again. */
    async close(giveUp: AbortSignal): Promise<void> {
      isClosing = true
      giveUp.addEventListener('abort', () => givenUp.abort())
      if (giveUp.aborted) givenUp.abort()
      await new Promise<void>((resolve) => {
        onIdle = resolve
        pump()
      })
      if (timer !== null) clearTimeout(timer)
      log.debug('all commits are done')
    },
  }
}

function cut(queue: Queue): Entry[] {
  let count = 0
  let bytes = BLOCK_HEADER_BYTES
  for (const entry of queue.entries) {
    if (count === COMMIT_EVENTS_MAX || bytes + entry.bytes > BLOCK_BYTES_MAX) break
    bytes += entry.bytes
    count++
  }
  const entries = queue.entries.slice(0, count)
  queue.entries = queue.entries.slice(count)
  queue.bytes -= bytes - BLOCK_HEADER_BYTES
  return entries
}

function bytesOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { bytes }) => sum + bytes, 0)
}
