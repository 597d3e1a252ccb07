// The newest 100 events of a user among 100,000, at 50 requests a second in an open model: a request is
// sent when its time has come, whether or not the one before was answered.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeProject, startServiceProcess } from './service-process.ts'

const USERS = 100_000
const EVENTS = 400_000
/** So many users have so many events more, so that their newest 100 are a full page. */
const BUSY_USERS = 1_000
const BUSY_EVENTS = 120
const DAYS = 20
const BATCH_EVENTS = 500
const POSTS_AT_ONCE = 6
const REQUESTS_PER_S = 50
const SECONDS = 60
const WARM_UP_S = 10

export async function timeline() {
  const service = await startServiceProcess({ LOG_LEVEL: 'warn' })
  try {
    const { writeKey, readKey } = await makeProject(service)
    console.log(`storing ${EVENTS + BUSY_USERS * BUSY_EVENTS} events of ${USERS} users`)
    await store(service.url, writeKey)
    const ask = (user: number) => timeRead(service.url, readKey, user)
    console.log(`asking for ${WARM_UP_S} s to warm up, then for ${SECONDS} s`)
    await atRate(WARM_UP_S, ask)
    const reads = (await atRate(SECONDS, ask)).sort((a, b) => a.tookMs - b.tookMs)
    const quantile = (q: number) => reads[Math.floor((reads.length - 1) * q)]!.tookMs
    const events = reads.reduce((sum, read) => sum + read.events, 0)
    return {
      bench: 'timeline',
      users: USERS,
      requests: reads.length,
      requestsPerSecond: REQUESTS_PER_S,
      failed: reads.filter(({ status }) => status !== 200).length,
      eventsPerAnswer: Math.round(events / reads.length),
      p50Ms: round(quantile(0.5)),
      p99Ms: round(quantile(0.99)),
      maxMs: round(quantile(1)),
    }
  } finally {
    await service.close()
  }
}

async function store(url: string, writeKey: string): Promise<void> {
  const total = EVENTS + BUSY_USERS * BUSY_EVENTS
  const nowMs = Date.now()
  const eventOf = (index: number) => ({
    id: randomUUID(),
    event: ['page_view', 'add_to_cart', 'purchase'][index % 3],
    userId: index < EVENTS ? index % USERS : (index % BUSY_USERS) * (USERS / BUSY_USERS),
    time: nowMs - ((index * 7_919) % (DAYS * 86_400_000)),
    properties: { path: `/pricing/${index % 50}`, country: 'DE', plan: 'pro' },
  })
  let next = 0
  async function post(): Promise<void> {
    while (next < total) {
      const start = next
      next += BATCH_EVENTS
      const count = Math.min(BATCH_EVENTS, total - start)
      const body = JSON.stringify(Array.from({ length: count }, (_, at) => eventOf(start + at)))
      for (;;) {
        const headers = { authorization: `Bearer ${writeKey}` }
        const response = await fetch(`${url}/v1/events`, { method: 'POST', headers, body })
        await response.arrayBuffer()
        if (response.ok) break
        await sleep(1_000)
      }
    }
  }
  await Promise.all(Array.from({ length: POSTS_AT_ONCE }, post))
}

interface Read {
  readonly tookMs: number
  readonly status: number
  readonly events: number
}

async function timeRead(url: string, readKey: string, user: number): Promise<Read> {
  const startMs = performance.now()
  const response = await fetch(`${url}/v1/users/${user}/events?limit=100`, {
    headers: { authorization: `Bearer ${readKey}` },
  })
  const { events = [] } = (await response.json()) as { events?: unknown[] }
  return { tookMs: performance.now() - startMs, status: response.status, events: events.length }
}

/** Half of the requests ask for a user with a full page. */
async function atRate(seconds: number, ask: (user: number) => Promise<Read>): Promise<Read[]> {
  const startMs = performance.now()
  const reads: Promise<Read>[] = []
  for (let index = 0; index < seconds * REQUESTS_PER_S; index++) {
    const waitMs = startMs + (index * 1000) / REQUESTS_PER_S - performance.now()
    if (waitMs > 0) await sleep(waitMs)
    const drawn = (index * 7_919) % USERS
    reads.push(ask(index % 2 === 0 ? drawn - (drawn % (USERS / BUSY_USERS)) : drawn))
  }
  return await Promise.all(reads)
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
