import { setImmediate as rest } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import type { Event } from '../event/event.ts'
import { decodeBlock } from '../segment/block.ts'
import { decodedArrival, SEQUENCES_PER_PAGE, type Arrivals } from '../store/arrivals.ts'
import type { Snapshots } from '../store/snapshots.ts'
import type { WriterHeads } from '../store/writer-heads.ts'
import type { Writers } from '../store/writers.ts'

/** A writer whose last heartbeat is older never writes again: after 10 s without one it takes a new id. */
const SILENT_MS = 60_000
/** How long a number is looked for that is not to be seen yet: a commit in flight. */
const GAP_MS = 60_000

/** How far a writer is followed. */
interface Followed {
  next: number
  /** Numbers below it that were not to be seen yet, and until when each is looked for. */
  readonly gaps: Map<number, number>
}

export interface ArrivalTables {
  readonly writers: Writers
  readonly writerHeads: WriterHeads
  readonly arrivals: Arrivals
  readonly snapshots: Snapshots
}

export type ArrivalFollower = ReturnType<typeof openArrivalFollower>

/**
 * Follows what all writers of a project take in, whichever process they are in: each block that can be seen for
 * the first time, and numbers that were skipped later. Costs two small reads a live writer and look.
 */
export function openArrivalFollower(
  { writers, writerHeads, arrivals, snapshots }: ArrivalTables,
  projectId: string,
  clock: Clock,
) {
  /** Null: of a writer that is silent for good. */
  const followed = new Map<string, Followed | null>()
  let hasBegun = false

  /** Where to begin with a writer that was there before: after what is known to be whole. */
  async function begin(writer: string): Promise<Followed | null> {
    const head = await writerHeads.read(writer)
    if (head === null || clock.nowMs() - head.beatAtMs > SILENT_MS) return null
    const wholeThrough = head.projects.get(projectId)?.rowsWholeThrough ?? -1
    const { root } = await snapshots.root(projectId)
    const sealedThrough = root?.writers[writer]?.through ?? -1
    return { next: Math.max(wholeThrough, sealedThrough) + 1, gaps: new Map() }
  }

  async function readNew(
    writer: string,
    state: Followed,
    take: (sequence: number, block: Buffer) => void,
  ): Promise<void> {
    for (let first = -1; state.next - first >= SEQUENCES_PER_PAGE || first === -1;) {
      first = state.next
      const nextPage = (Math.floor(first / SEQUENCES_PER_PAGE) + 1) * SEQUENCES_PER_PAGE
      // The next one too: a page may be gone past while its last numbers are in flight.
      for (const from of [first, nextPage])
        for await (const { sequence, block } of arrivals.readPage(projectId, writer, from)) {
          for (let gap = state.next; gap < sequence; gap++)
            state.gaps.set(gap, clock.nowMs() + GAP_MS)
          state.next = sequence + 1
          take(sequence, block)
          // A block takes milliseconds, where events are taken in as well.
          await rest()
        }
    }
  }

  async function readGaps(
    writer: string,
    { gaps }: Followed,
    take: (sequence: number, block: Buffer) => void,
  ): Promise<void> {
    for (const [sequence, untilMs] of gaps) {
      const arrival = await arrivals.read(projectId, writer, sequence)
      if (arrival === null && clock.nowMs() < untilMs) continue
      gaps.delete(sequence)
      if (arrival !== null) take(sequence, arrival.block)
    }
  }

  return {
    /**
     * Calls `onEvents` with what has come since the look before, block by block; the first look only finds where to
     * begin. One look at a time. An event may be told twice, if it was sent or written twice.
     */
    async look(onEvents: (events: readonly Event[]) => void): Promise<void> {
      const isFirst = !hasBegun
      const lookAt = async (writer: string) => {
        let state = followed.get(writer)
        if (state === undefined) {
          // Of a writer that was not there before all is still to be told.
          state = isFirst ? await begin(writer) : { next: 0, gaps: new Map<number, number>() }
          followed.set(writer, state)
        }
        if (state === null) return
        const take = (sequence: number, block: Buffer) => {
          if (!isFirst)
            onEvents(decodedArrival({ projectId, writer, sequence }, block, decodeBlock))
        }
        await readGaps(writer, state, take)
        await readNew(writer, state, take)
      }
      // All of them are waited for, also where one fails: the next look must not overtake this one.
      const looks = await Promise.allSettled((await writers.list(projectId)).map(lookAt))
      const failed = looks.find((one) => one.status === 'rejected')
      if (failed !== undefined) throw failed.reason
      hasBegun = true
    },
  }
}
