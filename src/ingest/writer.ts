import { randomUUID } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { dayOf } from '../event/day.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { ProjectHead, WriterHeads } from '../store/writer-heads.ts'
import { ALL_PROJECTS, type Writers } from '../store/writers.ts'
import { isPassing } from '../store/retry.ts'

const BEAT_MS = 1_000
/** How long after the start of its last good heartbeat a writer may still acknowledge. */
export const ACKNOWLEDGE_MS_MAX = 10_000
/** How long a project stays in the heads after its last commit. */
const ACTIVE_MS = 3_600_000

/** The number under which one group commit of a project is written. */
export interface CommitNumber {
  readonly writer: string
  readonly sequence: number
  /** False once the writer has been silent for so long that a sealer may void the number. */
  readonly isLive: () => boolean
  /** Tells that all rows of the commit are written. */
  readonly setRowsWhole: () => void
  /** Tells that the commit failed for good: its writer falls silent, so that sealers void the number. */
  readonly abandon: () => void
}

interface ProjectState {
  nextSequence: number
  readonly unfinished: Set<number>
  announcedOn: number
  writtenAtMs: number
}

/** A writer id and what was written under it. Given up when its heartbeat is late, never taken again. */
interface Life {
  readonly writer: string
  beat: number
  goodBeatBeganMs: number
  /** The same moment by the wall clock. */
  goodBeatAtMs: number
  isAbandoned: boolean
  readonly projects: Map<string, ProjectState>
}

export type Writer = ReturnType<typeof openWriter>

/** Numbers the group commits of this process, and tells the sealers that it is alive. */
export function openWriter(dependencies: {
  readonly writers: Writers
  readonly writerHeads: WriterHeads
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Logger
}) {
  const { writers, writerHeads, clock, metrics, log } = dependencies
  let life: Life | null = null
  let hasLived = false
  let starting: Promise<Life> | null = null
  let beating: Promise<void> = Promise.resolve()

  // By the wall clock too: while a machine sleeps the other may stand still.
  const isLive = ({ goodBeatBeganMs, goodBeatAtMs }: Life) =>
    clock.monotonicMs() - goodBeatBeganMs < ACKNOWLEDGE_MS_MAX &&
    clock.nowMs() - goodBeatAtMs < ACKNOWLEDGE_MS_MAX

  async function beat(current: Life): Promise<void> {
    const beganMs = clock.monotonicMs()
    const atMs = clock.nowMs()
    current.beat++
    const { writer, projects } = current
    const head = {
      beat: current.beat,
      beatAtMs: atMs,
      projects: headsOf(projects, beganMs),
    }
    await writerHeads.write(writer, head)
    if (current.isAbandoned || beganMs < current.goodBeatBeganMs) return
    current.goodBeatBeganMs = beganMs
    current.goodBeatAtMs = atMs
  }

  // A late beat of a life that was given up may still succeed, which is harmless: nothing is
  // acknowledged under it any more.
  async function beatOrLog(current: Life): Promise<void> {
    try {
      await beat(current)
    } catch (error) {
      if (isPassing(error)) log.debug({ err: error }, 'a heartbeat failed')
      else log.error({ err: error }, 'a heartbeat failed')
    }
  }

  async function start(): Promise<Life> {
    const next: Life = {
      writer: randomUUID(),
      beat: 0,
      ...{ goodBeatBeganMs: -Infinity, goodBeatAtMs: -Infinity },
      isAbandoned: false,
      projects: new Map(),
    }
    await beat(next)
    if (hasLived) {
      metrics.ingestWriterRenewals.inc()
      log.warn({ writer: next.writer }, 'heartbeats were late: going on under a new writer id')
    }
    hasLived = true
    life = next
    return next
  }

  function abandon(given: Life): void {
    given.isAbandoned = true
    given.goodBeatBeganMs = -Infinity
    if (life === given) life = null
  }

  async function currentLife(): Promise<Life> {
    if (life !== null && isLive(life)) return life
    starting ??= start().finally(() => (starting = null))
    return await starting
  }

  // One beat at a time: a slow one must not be overtaken and then undo what the next one told.
  let isBeating = false
  const timer = setInterval(() => {
    if (life === null || isBeating) return
    // Too late: sealers may have voided its gaps, and must not see it beat again.
    if (!isLive(life)) return abandon(life)
    isBeating = true
    beating = beatOrLog(life).finally(() => (isBeating = false))
  }, BEAT_MS)
  timer.unref()

  return {
    /** Takes the next number of a project. Rejects while Cassandra is away. */
    async take(projectId: string): Promise<CommitNumber> {
      const current = await currentLife()
      const today = dayOf(clock.nowMs())
      const project = projectOf(current, projectId)
      if (project.announcedOn !== today) {
        for (const announcedTo of [ALL_PROJECTS, projectId])
          await writers.announce(announcedTo, current.writer, clock.nowMs())
        project.announcedOn = today
      }
      const sequence = project.nextSequence++
      project.unfinished.add(sequence)
      project.writtenAtMs = clock.monotonicMs()
      return {
        writer: current.writer,
        sequence,
        isLive: () => isLive(current),
        setRowsWhole: () => void project.unfinished.delete(sequence),
        abandon: () => abandon(current),
      }
    },

    /** Stops beating, after one last beat that tells how far the writer came, if it can be told. */
    async close(giveUp: AbortSignal): Promise<void> {
      clearInterval(timer)
      await beating
      if (life !== null && isLive(life) && !giveUp.aborted) await beatOrLog(life)
    },
  }
}

function projectOf({ projects }: Life, projectId: string): ProjectState {
  const known = projects.get(projectId)
  if (known !== undefined) return known
  const project = {
    nextSequence: 0,
    unfinished: new Set<number>(),
    announcedOn: -1,
    writtenAtMs: 0,
  }
  projects.set(projectId, project)
  return project
}

function headsOf(projects: ReadonlyMap<string, ProjectState>, nowMs: number) {
  const heads = new Map<string, ProjectHead>()
  for (const [projectId, { nextSequence, unfinished, writtenAtMs }] of projects) {
    if (nowMs - writtenAtMs > ACTIVE_MS && unfinished.size === 0) continue
    const lastSequence = nextSequence - 1
    const rowsWholeThrough = unfinished.size === 0 ? lastSequence : Math.min(...unfinished) - 1
    heads.set(projectId, { lastSequence, rowsWholeThrough })
  }
  return heads
}
