// Service and database are killed with SIGKILL in the middle of a stream of events, twice, and started
// again. The sender sends again what was not acknowledged. At the end every event is there, and once.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { declareMetrics } from '../src/metrics.ts'
import { openLog } from '../src/log.ts'
import { openEventBuckets } from '../src/store/event-buckets.ts'
import { openEvents } from '../src/store/events.ts'
import { openSession, type Credentials } from '../src/store/session.ts'

const BATCH_EVENTS = 50
const SENDERS = 8
const START_TIMEOUT_MS = 120_000
const SEND_TIMEOUT_MS = 240_000
const POLL_MS = 50
const DAY_MS = 86_400_000

export interface CrashOutcome {
  readonly events: number
  readonly acknowledged: number
  /** Batches that were sent again. */
  readonly resends: number
  readonly kills: number
  /** Events that are absent, in `events`, in `user_timeline` and in the funnel together. */
  readonly missing: number
  /** Events that are there more than once, likewise. */
  readonly doubled: number
  readonly tookS: number
}

interface Service {
  readonly url: string
  readonly kill: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** A running service, or the next one after a kill. */
interface Place {
  service: Service
}

interface Keys {
  readonly projectId: string
  readonly writeKey: string
  readonly readKey: string
}

interface SentEvent {
  readonly id: string
  readonly event: string
  readonly userId: string
  readonly time: number
}

export async function crash({ eventCount = 50_000, userCount = 5_000, kills = 2 } = {}) {
  const startedMs = performance.now()
  const dataDir = await mkdtemp(join(tmpdir(), 'thousandfold-crash-'))
  const place: Place = { service: await start(dataDir) }
  try {
    const keys = await keysOf(dataDir)
    const events = eventsOf(eventCount, userCount)
    const { acknowledged, resends } = await sendAll({ place, dataDir, keys, events, kills })
    const rows = await rowsOf(dataDir, keys.projectId, events)
    const timelines = await timelinesOf(place.service.url, keys, events)
    const missing = missingOf(events, rows) + missingOf(events, timelines)
    const doubled = doubledOf(rows) + doubledOf(timelines)
    const inFunnel = await funnelErrorOf(place.service.url, keys, events)
    const outcome: CrashOutcome = {
      ...{ events: eventCount, acknowledged, resends, kills },
      missing: missing + Math.max(0, inFunnel),
      doubled: doubled + Math.max(0, -inFunnel),
      tookS: Math.round((performance.now() - startedMs) / 1_000),
    }
    return { bench: 'crash', ...outcome }
  } finally {
    await place.service.stop()
    await rm(dataDir, { recursive: true, maxRetries: 5 })
  }
}

/** Each user goes through the steps of a funnel in turn, a second apart. */
function eventsOf(eventCount: number, userCount: number): SentEvent[] {
  const noonMs = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS / 2
  return Array.from({ length: eventCount }, (_, index) => {
    const step = Math.floor(index / userCount)
    const userId = `user ${index % userCount}`
    return { id: `id ${index}`, event: `step ${step}`, userId, time: noonMs + step * 1_000 }
  })
}

async function start(dataDir: string): Promise<Service> {
  const log = await open(join(dataDir, 'service.log'), 'a')
  await rm(join(dataDir, 'service.json'), { force: true })
  const child = spawn(process.execPath, ['dist/cli.js', 'start'], {
    env: {
      ...process.env,
      ...{ DATA_DIR: dataDir, PORT: '0', CASSANDRA_PORT: '0', CASSANDRA_CONTACT_POINTS: '' },
      ...{ LOG_LEVEL: 'warn', DEMO: 'off' },
    },
    stdio: ['ignore', log.fd, log.fd],
  })
  await log.close()
  const ended = once(child, 'exit')
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await ended
  }
  const deadlineMs = Date.now() + START_TIMEOUT_MS
  while (child.exitCode === null && Date.now() < deadlineMs) {
    const url = await urlOf(dataDir)
    if (url !== null) return { url, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') }
    await sleep(POLL_MS)
  }
  await end('SIGTERM')
  throw new Error(`no start:\n${await readFile(join(dataDir, 'service.log'), 'utf8')}`)
}

async function urlOf(dataDir: string): Promise<string | null> {
  const service = await jsonOf<{ url: string }>(dataDir, 'service.json')
  // The first project is made just after the service listens.
  return service === null || (await jsonOf(dataDir, 'keys.json')) === null ? null : service.url
}

async function jsonOf<T>(...path: string[]): Promise<T | null> {
  const text = await readFile(join(...path), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return null
  })
  return text === null ? null : (JSON.parse(text) as T)
}

async function keysOf(dataDir: string): Promise<Keys> {
  const ring = await jsonOf<{
    firstProject: string
    projects: Record<string, { writeKey: string; readKey: string }>
  }>(dataDir, 'keys.json')
  return { projectId: ring!.firstProject, ...ring!.projects[ring!.firstProject]! }
}

/** Kills the service and its database at once, and starts them again. */
async function crashNow(place: Place, dataDir: string): Promise<void> {
  const node = await jsonOf<{ pid: number }>(dataDir, 'cassandra', 'node.json')
  const killed = place.service.kill()
  process.kill(node!.pid, 'SIGKILL')
  await killed
  place.service = await start(dataDir)
}

/** Sends all events in batches, each until it is acknowledged, with kills spread over the way. */
async function sendAll(send: {
  readonly place: Place
  readonly dataDir: string
  readonly keys: Keys
  readonly events: readonly SentEvent[]
  readonly kills: number
}): Promise<{ acknowledged: number; resends: number }> {
  const { place, dataDir, keys, events, kills } = send
  const deadlineMs = Date.now() + SEND_TIMEOUT_MS
  let next = 0
  let acknowledged = 0
  let resends = 0
  let killsLeft = kills
  let crashing: Promise<void> = Promise.resolve()

  function crashWhenDue(): void {
    const dueAt = (events.length * (kills - killsLeft + 1)) / (kills + 1)
    if (killsLeft === 0 || acknowledged < dueAt) return
    killsLeft--
    crashing = crashNow(place, dataDir)
    // Told by the await below; here only kept from being unhandled until then.
    crashing.catch(() => undefined)
  }

  async function sender(): Promise<void> {
    while (next < events.length) {
      const batch = events.slice(next, (next += BATCH_EVENTS))
      while ((await post(place.service.url, keys.writeKey, batch)) < batch.length) {
        if (Date.now() > deadlineMs) throw new Error('not acknowledged in time')
        resends++
        await sleep(POLL_MS)
      }
      acknowledged += batch.length
      crashWhenDue()
    }
  }
  await Promise.all(Array.from({ length: SENDERS }, sender))
  await crashing
  return { acknowledged, resends }
}

/** Returns how many events were acknowledged: 0 where there was no answer, or a 503. */
async function post(url: string, key: string, batch: readonly SentEvent[]): Promise<number> {
  const headers = { authorization: `Bearer ${key}` }
  try {
    const body = JSON.stringify(batch)
    const response = await fetch(`${url}/v1/events`, { method: 'POST', headers, body })
    if (response.status === 503) return 0
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${response.status}: ${text}`)
    return (JSON.parse(text) as { accepted: number }).accepted
  } catch (error) {
    // What fetch throws when the service is gone, or goes while it answers.
    if (error instanceof TypeError || error instanceof SyntaxError) return 0
    throw error
  }
}

const keyOf = (userId: string, event: string) => `${userId} ${event}`

/** How often each event is in the table `events`. */
async function rowsOf(dataDir: string, projectId: string, events: readonly SentEvent[]) {
  const logins = await jsonOf<{ service: Credentials }>(dataDir, 'cassandra', 'credentials.json')
  const service = await jsonOf<{ contactPoints: string[]; localDataCenter: string }>(
    ...[dataDir, 'service.json'],
  )
  const session = await openSession({
    ...{ ...service!, credentials: logins!.service, keyspace: 'thousandfold' },
    ...{ log: openLog('warn'), metrics: declareMetrics() },
  })
  try {
    const days = events.map(({ time }) => Math.floor(time / DAY_MS))
    const range = [Math.min(days[0]!, days.at(-1)!), Math.max(days[0]!, days.at(-1)!)] as const
    const counts = new Map<string, number>()
    const table = openEvents(session)
    for await (const { bucketDays } of openEventBuckets(session).list(projectId, ...range))
      for (const bucketDay of bucketDays)
        for await (const page of table.scan({ projectId, ...bucketDay, withProperties: false }))
          for (const { userId, eventName } of page) count(counts, keyOf(userId, eventName))
    return counts
  } finally {
    await session.close()
  }
}

/** How often each event is in its user's timeline. */
async function timelinesOf(url: string, { readKey }: Keys, events: readonly SentEvent[]) {
  const counts = new Map<string, number>()
  const users = [...new Set(events.map(({ userId }) => userId))]
  const headers = { authorization: `Bearer ${readKey}` }
  const reader = async () => {
    for (let user = users.pop(); user !== undefined; user = users.pop()) {
      const path = `/v1/users/${encodeURIComponent(user)}/events?limit=1000`
      const response = await fetch(url + path, { headers })
      const listed = (await response.json()) as { events: { event: string }[] }
      for (const { event } of listed.events) count(counts, keyOf(user, event))
    }
  }
  await Promise.all(Array.from({ length: SENDERS }, reader))
  return counts
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function missingOf(events: readonly SentEvent[], counts: ReadonlyMap<string, number>): number {
  return events.filter(({ userId, event }) => !counts.has(keyOf(userId, event))).length
}

function doubledOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, times) => sum + times - 1, 0)
}

/**
 * How many events a funnel over all steps has too few, or below 0 too many. Each step is asked for twice
 * in a row: nobody may take the second of the two, unless an event is there twice.
 */
async function funnelErrorOf(url: string, { readKey }: Keys, events: readonly SentEvent[]) {
  const expected = new Map<string, number>()
  for (const { event } of events) count(expected, event)
  const headers = { authorization: `Bearer ${readKey}` }
  let error = 0
  for (const steps of [[...expected.keys()], ...[...expected.keys()].map((step) => [step, step])]) {
    const asked = steps.slice(0, 32).map((event) => ({ event }))
    const body = JSON.stringify({ steps: asked, freshness: 'now' })
    const response = await fetch(`${url}/v1/funnels`, { method: 'POST', headers, body })
    const answer = (await response.json()) as { steps: { users: number }[] }
    const reached = answer.steps.map(({ users }) => users)
    if (steps.length === 2 && steps[0] === steps[1]) error -= reached[1]!
    else for (const [at, users] of reached.entries()) error += expected.get(steps[at]!)! - users
  }
  return error
}
