import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { systemClock as clock } from '../src/clock.ts'
import { DAY_MS, HOUR_MS } from '../src/event/day.ts'
import { rounded, untilAsOf } from './ask.ts'
import { writeEventId } from './data-set.ts'
import { untilMerged } from './load-and-seal.ts'
import { bytesByTable, flushAndCompact } from './node-tool.ts'
import { openStoresOf } from './open-stores.ts'
import { postAll, type PostedEvent } from './post-events.ts'
import { deleteLoose, segmentBytes } from './segment-bytes.ts'
import { makeProject, startServiceProcess } from './service-process.ts'

// Asks: how many bytes does an event take on disk, in each table, beside its JSON and ClickHouse?

const SEED = 7
const DAYS = 10
const USERS_PER_EVENT = 0.2
/** Deleted bytes leave the disk with a compaction; `arrivals` expire by themselves after 14 days. */
const ARRIVALS = 'arrivals'

export async function storage() {
  const count = Number(process.env['EVENTS'] ?? 300_000)
  const eventOf = makerOf(count)
  const service = await startServiceProcess({ LOG_LEVEL: 'warn' })
  try {
    const { id: projectId, writeKey, readKey } = await makeProject(service)
    const startHour = Math.floor(clock.nowMs() / HOUR_MS)
    const posted = await postAll(service.url, writeKey, { count, eventOf })
    console.log(`${count} events are taken after ${rounded(posted.tookS, 1)} s`)
    await untilAsOf(service.url, readKey, posted.endedAtMs)
    const { stores, close } = await openStoresOf(service)
    try {
      await untilMerged({ stores, projectId, isSealed: () => true })
      console.log('sealed and merged')
      await flushAndCompact(service.dataDir)
      const asWritten = await bytesByTable(service.dataDir)
      const hours = Array.from(
        { length: Math.floor(clock.nowMs() / HOUR_MS) - startHour + 1 },
        (_, index) => startHour + index,
      )
      const looseObjects = await deleteLoose(stores, projectId, hours)
      await flushAndCompact(service.dataDir)
      const swept = await bytesByTable(service.dataDir)
      const segments = await segmentBytes(stores, projectId)
      if (segments.rows !== count) throw new Error(`${segments.rows} rows are in segments`)
      const theirs = await clickHouseBytes(count, eventOf)
      return {
        bench: 'storage',
        ...shown({ count, eventOf, asWritten, swept, segments, theirs }),
        looseObjects,
      }
    } finally {
      await close()
    }
  } finally {
    await service.close()
  }
}

interface ClickHouseBytes {
  readonly bytes: number
  readonly rows: number
  readonly byColumn: Readonly<Record<string, number>>
}

function shown(measured: {
  readonly count: number
  readonly eventOf: (index: number) => PostedEvent
  readonly asWritten: Readonly<Record<string, number>>
  readonly swept: Readonly<Record<string, number>>
  readonly segments: Awaited<ReturnType<typeof segmentBytes>>
  readonly theirs: ClickHouseBytes
}) {
  const { count, eventOf, asWritten, swept, segments, theirs } = measured
  const perEvent = (bytes: number) => rounded(bytes / count, 1)
  const each = (table: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(table).map(([name, bytes]) => [name, perEvent(bytes)]))
  const sum = (table: Readonly<Record<string, number>>) =>
    Object.values(table).reduce((total, bytes) => total + bytes, 0)
  let jsonBytes = 0
  for (let index = 0; index < count; index++) jsonBytes += JSON.stringify(eventOf(index)).length
  return {
    events: count,
    bytesPerEvent: perEvent(sum(swept)),
    bytesPerEventWithoutArrivals: perEvent(sum(swept) - (swept[ARRIVALS] ?? 0)),
    /** With what merges have given up, which is kept for an hour or two. */
    bytesPerEventBeforeSweep: perEvent(sum(asWritten)),
    objectsBeforeSweep: perEvent(asWritten['objects'] ?? 0),
    byTable: each(swept),
    segments: {
      segments: segments.segments,
      bytesPerEvent: perEvent(sum(segments.bytes)),
      byColumn: each(segments.bytes),
    },
    clickHouseBytesPerEvent: perEvent(theirs.bytes),
    clickHouseWithoutIds: perEvent(theirs.bytes - (theirs.byColumn['id'] ?? 0)),
    clickHouseByColumn: each(theirs.byColumn),
    jsonBytesPerEvent: perEvent(jsonBytes),
  }
}

const COUNTRIES = [
  ...['United States', 'Germany', 'United Kingdom', 'France', 'India', 'Brazil', 'Japan'],
  ...['Canada', 'Spain', 'Italy', 'Netherlands', 'Poland', 'Sweden', 'Mexico', 'Australia'],
  ...['Turkey', 'South Korea', 'Switzerland', 'Austria', 'South Africa'],
]
const BROWSERS = [
  ...['Chrome 142', 'Mobile Safari 18', 'Firefox 145', 'Edge 142', 'Safari 18'],
  ...['Samsung Internet 28', 'Opera 124', 'Chrome Mobile 142'],
]
const PATHS = Array.from(
  { length: 200 },
  (_, index) =>
    `/shop/department-${index % 12}/category-${index}/overview.html?campaign=autumn&medium=mail`,
)
const NAMES = ['page_view', 'product_view', 'add_to_cart', 'checkout', 'purchase']
const PRICES = 2_000

/** Makes events in time order, as a stream would bring them: the same for the same index. */
export function makerOf(count: number): (index: number) => PostedEvent {
  const startMs = clock.nowMs() - DAYS * DAY_MS
  const users = Math.max(1, Math.round(count * USERS_PER_EVENT))
  const bytes = Buffer.alloc(20)
  return (index) => {
    writeEventId(bytes, 0, SEED, index)
    const id = bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    // The second half of the id is as good as drawn.
    const draw = (offset: number, below: number) => skewed(bytes.readUInt16LE(offset), below)
    return {
      ...{ id, event: NAMES[draw(4, NAMES.length)]! },
      userId: bytes.readUInt32LE(0) % users,
      time: startMs + Math.floor((index * DAYS * DAY_MS) / count),
      properties: {
        path: PATHS[draw(9, PATHS.length)]!,
        country: COUNTRIES[draw(11, COUNTRIES.length)]!,
        browser: BROWSERS[draw(13, BROWSERS.length)]!,
        price: (bytes.readUInt16LE(12) % PRICES) / 100 + 1,
        trial: bytes[15]! < 64,
      },
    }
  }
}

/** From 16 bits; the n-th about as often as 1/n. */
function skewed(bits: number, below: number): number {
  return Math.min(below - 1, Math.floor((below + 1) ** (bits / 65_536)) - 1)
}

/** The same events in ClickHouse, by the user and the time, each property a column. */
async function clickHouseBytes(
  count: number,
  eventOf: (index: number) => PostedEvent,
): Promise<ClickHouseBytes> {
  const folder = await mkdtemp(join(tmpdir(), 'thousandfold-bench-'))
  function* lines() {
    for (let index = 0; index < count; index++) {
      const { id, event: n, userId: user, time: t, properties } = eventOf(index)
      yield `${JSON.stringify({ id, n, user, t, ...properties })}\n`
    }
  }
  try {
    await pipeline(Readable.from(lines()), createWriteStream(join(folder, 'events.ndjson')))
    const script = join(import.meta.dirname, 'clickhouse-size.py')
    const { stdout } = await promisify(execFile)('python3', [script, folder])
    return JSON.parse(stdout) as ClickHouseBytes
  } finally {
    await rm(folder, { recursive: true })
  }
}
