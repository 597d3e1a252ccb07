// Stores a data set as one writer would have taken it in, without its rows: blocks in `arrivals`, a writer
// in `writers` and `writer_heads`.
import assert from 'node:assert'
import { randomUUID } from 'node:crypto'
import type { Clock } from '../src/clock.ts'
import type { Event } from '../src/event/event.ts'
import { BLOCK_BYTES_MAX, encodeBlock } from '../src/segment/block.ts'
import { untilStored } from '../src/store/retry.ts'
import type { Stores } from '../src/store/stores.ts'
import { ALL_PROJECTS } from '../src/store/writers.ts'
import { COUNTRIES, EVENT_NAMES, PLANS, writeEventId, type DataSet } from './data-set.ts'

const BLOCK_EVENTS = 1_000
const APPENDS_IN_FLIGHT = 16
const BEAT_MS = 1_000
const BEAT_BLOCKS = 200
const RETRY_MS_MAX = 60_000
const EVENT_ID_BYTES = 16

export interface LoadProgress {
  readonly events: number
  readonly eventCount: number
  readonly blocks: number
}

export interface Loaded {
  readonly events: number
  readonly blocks: number
  /** Of all blocks, as they are sent. */
  readonly bytes: number
  readonly tookMs: number
}

/**
 * Appends all events of a data set to `arrivals` under one new writer. Sequence n holds the events from
 * 1,000 n on, each received at its own time, with no id of the sender. The writer's head never tells of a
 * block before it is stored with all before it; the last head tells of the last block.
 */
export async function loadBlocks(load: {
  readonly stores: Pick<Stores, 'arrivals' | 'writers' | 'writerHeads'>
  readonly projectId: string
  readonly dataSet: DataSet
  readonly clock: Clock
  /** Called after each heartbeat. */
  readonly onProgress?: (progress: LoadProgress) => void
}): Promise<Loaded> {
  const { stores, projectId, dataSet, clock, onProgress } = load
  const { eventCount } = dataSet
  const startedMs = clock.monotonicMs()
  const blockCount = Math.ceil(eventCount / BLOCK_EVENTS)
  const writer = randomUUID()
  const stored = new Set<number>()
  let next = 0
  let wholeThrough = -1
  let bytes = 0
  let beats = 0

  async function beat(): Promise<void> {
    const head = { lastSequence: wholeThrough, rowsWholeThrough: wholeThrough }
    const blocks = wholeThrough + 1
    await stores.writerHeads.write(writer, {
      beat: ++beats,
      beatAtMs: clock.nowMs(),
      projects: new Map(blocks === 0 ? [] : [[projectId, head]]),
    })
    onProgress?.({ events: Math.min(blocks * BLOCK_EVENTS, eventCount), eventCount, blocks })
  }

  let beating: Promise<void> | null = null
  let beatenMs = startedMs
  let beatenThrough = -1
  async function beatWhenDue(): Promise<void> {
    const isDue =
      clock.monotonicMs() - beatenMs >= BEAT_MS || wholeThrough - beatenThrough >= BEAT_BLOCKS
    if (beating !== null || !isDue) return
    beatenMs = clock.monotonicMs()
    beatenThrough = wholeThrough
    beating = beat()
    await beating
    beating = null
  }

  async function appendBlocks(): Promise<void> {
    while (next < blockCount) {
      const sequence = next++
      const block = blockOf(dataSet, sequence)
      bytes += block.length
      const append = () => stores.arrivals.append({ projectId, writer, sequence, block })
      const signal = AbortSignal.timeout(RETRY_MS_MAX)
      await untilStored(append, { signal, onRetry: () => undefined })
      stored.add(sequence)
      while (stored.delete(wholeThrough + 1)) wholeThrough++
      await beatWhenDue()
    }
  }

  await beat()
  for (const announcedTo of [ALL_PROJECTS, projectId])
    await stores.writers.announce(announcedTo, writer, clock.nowMs())
  await Promise.all(Array.from({ length: APPENDS_IN_FLIGHT }, appendBlocks))
  await beat()
  const tookMs = clock.monotonicMs() - startedMs
  return { events: eventCount, blocks: blockCount, bytes, tookMs }
}

const PROPERTIES = COUNTRIES.map((country) =>
  PLANS.map((plan) => JSON.stringify({ country, plan })),
)

function blockOf(dataSet: DataSet, sequence: number): Buffer {
  const start = sequence * BLOCK_EVENTS
  const count = Math.min(BLOCK_EVENTS, dataSet.eventCount - start)
  const ids = Buffer.allocUnsafe(EVENT_ID_BYTES * count)
  const events = Array.from({ length: count }, (_, row): Event => {
    const index = start + row
    const eventTimeMs = dataSet.startMs + dataSet.timeMs[index]!
    writeEventId(ids, EVENT_ID_BYTES * row, dataSet.seed, index)
    return {
      eventId: ids.subarray(EVENT_ID_BYTES * row, EVENT_ID_BYTES * (row + 1)),
      ...{ sentId: null, anonymousId: null, sessionId: null },
      eventName: EVENT_NAMES[dataSet.name[index]!]!,
      userId: String(dataSet.userId[index]),
      ...{ eventTimeMs, receivedAtMs: eventTimeMs },
      properties: PROPERTIES[dataSet.country[index]!]![dataSet.plan[index]!]!,
    }
  })
  const block = encodeBlock(events)
  assert(block.length <= BLOCK_BYTES_MAX)
  return block
}
