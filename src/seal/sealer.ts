import { randomUUID } from 'node:crypto'
import pLimit from 'p-limit'
import { AppError } from '../error.ts'
import type { WriterPosition } from '../segment/root.ts'
import { isPassing } from '../store/retry.ts'
import { LEASE_MS } from '../store/seal-leases.ts'
import { ALL_PROJECTS } from '../store/writers.ts'
import { openProjectSealer, type ProjectSealer, type SealDependencies } from './project-sealer.ts'
import { openSilenceTest } from './silence.ts'

/** How often the heartbeats are looked at. */
const LOOK_MS = 500
/** A project that goes on taking events is sealed so often. */
const SEAL_MS = 2_000
/** How often a project is looked at for merges and loose objects, whether or not events came. */
const TEND_MS = 30_000
const SWEEP_MS = 600_000
const ALL_MS = 600_000
const IDLE_MS = 300_000
const RETRY_MS = 2_000
const PROJECTS_AT_ONCE = 4
const HEADS_AT_ONCE = 16
const MERGES_PER_PASS_MAX = 4
/** Tries to publish before another sealer is left to it. */
const TRIES_MAX = 8

interface ProjectState {
  readonly sealer: ProjectSealer
  /** One thing at a time. */
  readonly turn: ReturnType<typeof pLimit>
  /** By writer, how far its events are sealed. */
  sealed: ReadonlyMap<string, WriterPosition>
  dueMs: number
  tendMs: number
  sweepMs: number
  leaseUntilMs: number
  /** When what is kept of it in memory is given up, unless events come before. */
  idleMs: number
}

export interface SealedThrough {
  /** All events acknowledged before it are published. Milliseconds since 1970. */
  readonly asOfMs: number
}

export type Sealer = ReturnType<typeof openSealer>

/** Seals the projects that take events: finds them by the writers' heartbeats, and tends what is published. */
export function openSealer(dependencies: SealDependencies) {
  const { stores, clock, log, metrics } = dependencies
  const { writers, writerHeads, projects, sealLeases } = stores
  const { monotonicMs } = clock
  const holder = randomUUID()
  const states = new Map<string, Promise<ProjectState | null>>()
  const atOnce = pLimit(PROJECTS_AT_ONCE)
  const queued = new Set<string>()
  /** Silent writers of which nothing is left to be sealed. */
  const finished = new Set<string>()
  /** When all projects are to be looked at again, whether or not a writer tells of them. */
  let allMs = -Infinity
  const isSilent = openSilenceTest(monotonicMs)

  async function loadState(projectId: string): Promise<ProjectState | null> {
    const project = await projects.read(projectId)
    if (project === null) return null
    return {
      sealer: openProjectSealer(project, dependencies),
      turn: pLimit(1),
      sealed: new Map(),
      ...{ dueMs: -Infinity, tendMs: -Infinity, sweepMs: -Infinity, leaseUntilMs: -Infinity },
      idleMs: monotonicMs() + IDLE_MS,
    }
  }

  async function stateOf(projectId: string): Promise<ProjectState | null> {
    let loading = states.get(projectId)
    if (loading === undefined) {
      loading = loadState(projectId)
      states.set(projectId, loading)
      loading.catch(() => states.delete(projectId))
    }
    const state = await loading
    if (state === null) states.delete(projectId)
    return state
  }

  /** Seals until nothing is left that could be seen when it began. */
  async function drain(state: ProjectState, triesMax: number): Promise<SealedThrough | null> {
    for (let tries = 0; tries < triesMax; tries++) {
      const outcome = await state.sealer.seal()
      if (outcome === null) continue
      const { root } = outcome.published
      state.sealed = new Map(Object.entries(root?.writers ?? {}))
      await state.sealer.merge(MERGES_PER_PASS_MAX)
      if (outcome.isDrained) return { asOfMs: outcome.asOfMs }
      tries = -1
    }
    return null
  }

  async function hasLease(projectId: string, state: ProjectState): Promise<boolean> {
    const nowMs = monotonicMs()
    if (nowMs < state.leaseUntilMs - LEASE_MS / 2) return true
    const isHeld = nowMs < state.leaseUntilMs
    const isMine = isHeld
      ? await sealLeases.renew(projectId, holder)
      : (await sealLeases.claim(projectId, holder)) || (await sealLeases.renew(projectId, holder))
    state.leaseUntilMs = isMine ? nowMs + LEASE_MS : -Infinity
    return isMine
  }

  /** What is due for a project: sealing, merging, sweeping. */
  async function tend(projectId: string, isWaiting: boolean): Promise<void> {
    const state = await stateOf(projectId)
    if (state === null || state.turn.activeCount > 0) return
    const nowMs = monotonicMs()
    const isSealDue = isWaiting && nowMs >= state.dueMs
    if (!isSealDue && nowMs < state.tendMs) return
    await state.turn(async () => {
      try {
        if (!(await hasLease(projectId, state))) {
          state.dueMs = monotonicMs() + LEASE_MS / 2
          state.tendMs = monotonicMs() + TEND_MS
          return
        }
        if (isSealDue) {
          state.dueMs = monotonicMs() + SEAL_MS
          await drain(state, TRIES_MAX)
        }
        if (monotonicMs() < state.tendMs) return
        state.tendMs = monotonicMs() + TEND_MS
        const project = await projects.read(projectId)
        if (project === null) return void states.delete(projectId)
        state.sealer.setRetention(project.retentionDays)
        await state.sealer.merge(Infinity)
        if (monotonicMs() < state.sweepMs) return
        state.sweepMs = monotonicMs() + SWEEP_MS
        await state.sealer.sweep()
      } catch (error) {
        state.dueMs = monotonicMs() + RETRY_MS
        if (isPassing(error)) log.debug({ err: error, projectId }, 'sealing is tried again')
        else log.error({ err: error, projectId }, 'sealing failed; it is tried again')
        metrics.sealFailures.inc()
      }
    })
  }

  /** Whether a project may have something of a writer that is not sealed yet. */
  async function isWaiting(projectId: string, writer: string, told: number, silent: boolean) {
    const state = await stateOf(projectId)
    if (state === null) return false
    const sealed = state.sealed.get(writer)
    if (sealed === undefined) return true
    return !sealed.isClosed && (silent || told > sealed.through || sealed.gaps.length > 0)
  }

  /** Finds the projects that writers told of since they were sealed. */
  async function look(): Promise<void> {
    const waiting = new Set<string>()
    const lookedMs = monotonicMs()
    const readAtOnce = pLimit(HEADS_AT_ONCE)
    const lives = (await writers.list(ALL_PROJECTS)).filter((writer) => !finished.has(writer))
    const heads = await Promise.all(
      lives.map((writer) => readAtOnce(() => writerHeads.read(writer))),
    )
    for (const [index, writer] of lives.entries()) {
      const head = heads[index] ?? null
      const silent = isSilent(writer, head, lookedMs)
      let isOpen = !silent
      for (const [projectId, { lastSequence }] of head?.projects ?? [])
        if (await isWaiting(projectId, writer, lastSequence, silent)) {
          waiting.add(projectId)
          isOpen = true
        }
      if (isOpen) continue
      finished.add(writer)
      // It may have died before it told of all its projects.
      allMs = -Infinity
    }
    if (lookedMs >= allMs) {
      allMs = lookedMs + ALL_MS
      for (const { projectId } of await projects.list()) waiting.add(projectId)
    }
    for (const projectId of new Set([...waiting, ...states.keys()]))
      if (!queued.has(projectId)) await queue(projectId, waiting.has(projectId))
  }

  /** Has a project tended when its turn comes, if anything is due; forgets it when nothing is for long. */
  async function queue(projectId: string, waits: boolean): Promise<void> {
    const state = await stateOf(projectId)
    if (state === null) return
    const nowMs = monotonicMs()
    if (waits) state.idleMs = nowMs + IDLE_MS
    const isDue = (waits && nowMs >= state.dueMs) || nowMs >= state.tendMs
    if (!isDue || state.turn.activeCount > 0) return
    if (nowMs >= state.idleMs) return void states.delete(projectId)
    queued.add(projectId)
    // Owned by `atOnce`, which `close` waits for; `tend` tells its own failures.
    void atOnce(() => tend(projectId, waits)).finally(() => queued.delete(projectId))
  }

  let isClosing = false
  let looking: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | null = null

  function lookAgain(): void {
    if (isClosing) return
    timer = setTimeout(() => {
      looking = look()
        .catch((error: unknown) => {
          if (isPassing(error)) log.debug({ err: error }, 'no heartbeats could be read')
          else log.error({ err: error }, 'no heartbeats could be read')
        })
        .finally(lookAgain)
    }, LOOK_MS)
    timer.unref()
  }

  return {
    /** Goes on sealing whatever comes, until it is closed. */
    start: lookAgain,

    /**
     * Publishes everything of a project that was acknowledged before the call. Throws NOT_FOUND for a project
     * that there is not, OVERLOADED where others always publish first.
     */
    async sealNow(projectId: string): Promise<SealedThrough> {
      const state = await stateOf(projectId)
      if (state === null) throw new AppError('NOT_FOUND', 'no such project')
      const sealed = await state.turn(() => drain(state, TRIES_MAX))
      if (sealed === null) throw new AppError('OVERLOADED', 'others seal this project: ask again')
      return sealed
    },

    /** Seals what all projects have waiting, merges what is worth it, and ends. */
    async sealAll(): Promise<void> {
      for (const { projectId } of await projects.list()) {
        const state = await stateOf(projectId)
        await state?.turn(async () => {
          await drain(state, TRIES_MAX)
          await state.sealer.merge(Infinity)
        })
      }
    },

    /** Ends after what is being done. */
    async close(): Promise<void> {
      isClosing = true
      if (timer !== null) clearTimeout(timer)
      await looking
      atOnce.clearQueue()
      while (atOnce.activeCount > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    },
  }
}
