// A slow stream of events: some late, some sent twice. Each user has one event of each name.
import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { systemClock as clock } from '../src/clock.ts'
import { DAY_MS } from '../src/event/day.ts'
import { postBatch, type PostedEvent } from './post-events.ts'

export const NAMES = Array.from({ length: 12 }, (_, index) => `step ${index}`)
export const COUNTRIES = ['DE', 'US', 'FR', 'GB', 'IN'] as const
/** How far back the latest event lies. */
export const LATE_MS_MAX = 3 * DAY_MS

const BATCH_EVENTS = 20
const EVERY_MS = 100
/** Users whose events come mixed. */
const USERS_AT_ONCE = 200
const LATE_SHARE = 0.2
const RESEND_SHARE = 0.1

export type Sender = ReturnType<typeof openSender>

/** Sends 200 events a second until it is stopped; each batch until it is acknowledged. */
export function openSender(url: string, key: string) {
  const expected = new Map<string, number>()
  const users = new Set<string | number>()
  const recent: PostedEvent[][] = []
  const turn = pLimit(1)
  let made = 0
  let acknowledged = 0
  let resends = 0
  let isStopped = false
  let failure: unknown = null

  /** User by user within a cohort, name by name; the times random, so that not all are in order. */
  function nextEvent(): PostedEvent {
    const index = made++
    const cohort = Math.floor(index / (USERS_AT_ONCE * NAMES.length))
    const user = cohort * USERS_AT_ONCE + (index % USERS_AT_ONCE)
    const name = NAMES[Math.floor(index / USERS_AT_ONCE) % NAMES.length]!
    const lateMs = Math.random() < LATE_SHARE ? Math.random() * LATE_MS_MAX : Math.random() * 1_000
    return {
      ...{ id: `id ${index}`, event: name, userId: `user ${user}` },
      time: Math.floor(clock.nowMs() - lateMs),
      properties: {
        country: COUNTRIES[user % COUNTRIES.length]!,
        plan: Math.random() < 0.5 ? 'free' : 'pro',
      },
    }
  }

  async function sendOne(): Promise<void> {
    const old =
      Math.random() < RESEND_SHARE ? recent[Math.floor(Math.random() * recent.length)] : null
    if (old) {
      resends += await postBatch(url, key, old)
      return
    }
    const batch = Array.from({ length: BATCH_EVENTS }, nextEvent)
    resends += (await postBatch(url, key, batch)) - 1
    acknowledged += batch.length
    for (const { event, userId } of batch) {
      expected.set(event, (expected.get(event) ?? 0) + 1)
      users.add(userId)
    }
    recent.push(batch)
  }

  async function send(): Promise<void> {
    let dueMs = clock.monotonicMs()
    while (!isStopped) {
      await turn(sendOne)
      // What a pause or a slow answer has held up is not made up for.
      dueMs = Math.max(dueMs + EVERY_MS, clock.monotonicMs())
      await sleep(dueMs - clock.monotonicMs())
    }
  }
  const sending = send().catch((error: unknown) => (failure = error))

  return {
    /** How many events of each name are acknowledged. */
    expected: expected as ReadonlyMap<string, number>,
    userCount: () => users.size,
    counts: () => ({ events: made, acknowledged, resends }),
    throwFailure(): void {
      if (failure !== null) throw new Error('the sender failed', { cause: failure })
    },
    /** Runs `work` while nothing is being sent. */
    whilePaused: <T>(work: () => Promise<T>): Promise<T> => turn(work),
    async stop(): Promise<void> {
      isStopped = true
      await sending
      this.throwFailure()
    },
  }
}
