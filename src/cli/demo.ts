import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { systemClock as clock } from '../clock.ts'
import type { Config } from '../config.ts'
import { visitorEvents, type DemoEvent, type DemoSending } from '../demo/visitor-events.ts'
import { DAY_MS } from '../event/day.ts'
import { requestJson, requestUntilTaken } from './http-client.ts'
import { keepKeys, loadKeyRing } from './key-ring.ts'
import type { RunningService } from './run-service.ts'

const NAME = 'demo'
const RANGE_DAYS = 30
/** A sixth of them come before the range only. */
const VISITOR_COUNT = 6_000
const VISITORS_PER_TURN = 50
const EVENTS_PER_REQUEST = 500
const REQUESTS_IN_FLIGHT = 4

const State = z.object({
  projectId: z.string(),
  seed: z.string(),
  startMs: z.number(),
  endMs: z.number(),
  visitorCount: z.number().int(),
  /** In the order of sending: that many are known to be taken. */
  sentCount: z.number().int(),
  isFilled: z.boolean(),
})
type State = z.output<typeof State>

const Listed = z.object({ projects: z.array(z.object({ id: z.string() })) })
const Made = z.object({ id: z.string(), writeKey: z.string(), readKey: z.string() })

export interface DemoProject {
  readonly id: string
  readonly name: string
  readonly writeKey: string
  readonly readKey: string
  readonly isFilled: boolean
}

/**
 * Returns the demo project of a data folder. Makes it where there is no project but the first one, and none
 * was made before; null where it was destroyed, or is not to be made.
 */
export async function findDemo(
  { DATA_DIR }: Config,
  { url, adminKey }: Pick<RunningService, 'url' | 'adminKey'>,
  visitorCount = VISITOR_COUNT,
): Promise<DemoProject | null> {
  const admin = { url, headers: { authorization: `Bearer ${adminKey}` } }
  const { projects } = Listed.parse(await requestJson(admin, '/v1/projects'))
  const { firstProject, projects: kept } = await loadKeyRing(DATA_DIR)
  const state = await loadState(DATA_DIR)
  if (state !== null) {
    const { writeKey, readKey } = kept[state.projectId] ?? {}
    if (!projects.some(({ id }) => id === state.projectId) || !writeKey || !readKey) return null
    return { id: state.projectId, name: NAME, writeKey, readKey, isFilled: state.isFilled }
  }
  if (projects.some(({ id }) => id !== firstProject)) return null
  const { id, writeKey, readKey } = Made.parse(
    await requestJson(admin, '/v1/projects', { name: NAME }),
  )
  const endMs = clock.nowMs()
  const shop = { seed: NAME, startMs: endMs - RANGE_DAYS * DAY_MS, endMs, visitorCount }
  await keepKeys(DATA_DIR, id, { name: NAME, writeKey, readKey })
  await saveState(DATA_DIR, { projectId: id, ...shop, sentCount: 0, isFilled: false })
  return { id, name: NAME, writeKey, readKey, isFilled: false }
}

/**
 * Sends the events of the demo shop as any client would; goes on where an earlier start was ended, since they
 * are always the same ones. Returns how many there are. Throws the reason of `signal` when that is aborted,
 * and what the service refuses.
 */
export async function fillDemo(
  { DATA_DIR }: Config,
  { url }: Pick<RunningService, 'url'>,
  { writeKey }: DemoProject,
  options: { readonly signal: AbortSignal; readonly note: (text: string) => void },
): Promise<number> {
  let state = (await loadState(DATA_DIR))!
  const target = { url, headers: { authorization: `Bearer ${writeKey}` } }
  const events = await eventsInOrder(state, options.signal)
  const waveSize = EVENTS_PER_REQUEST * REQUESTS_IN_FLIGHT
  while (state.sentCount < events.length) {
    const wave = events.slice(state.sentCount, state.sentCount + waveSize)
    const bodies = Array.from({ length: Math.ceil(wave.length / EVENTS_PER_REQUEST) }, (_, index) =>
      JSON.stringify(wave.slice(index * EVENTS_PER_REQUEST, (index + 1) * EVENTS_PER_REQUEST)),
    )
    await Promise.all(bodies.map((body) => requestUntilTaken(target, '/v1/events', body, options)))
    state = { ...state, sentCount: state.sentCount + wave.length }
    await saveState(DATA_DIR, state)
  }
  await saveState(DATA_DIR, { ...state, isFilled: true })
  return events.length
}

/** In the order of sending. Made some visitors at a time: the service answers in between. */
async function eventsInOrder(shop: State, signal: AbortSignal): Promise<DemoEvent[]> {
  const sendings: DemoSending[] = []
  for (let visitor = 0; visitor < shop.visitorCount; visitor++) {
    for (const sending of visitorEvents(shop, visitor)) sendings.push(sending)
    if (visitor % VISITORS_PER_TURN === 0) await nextTurn()
    signal.throwIfAborted()
  }
  return sendings.sort((a, b) => a.sentMs - b.sentMs).map(({ event }) => event)
}

async function loadState(dataDir: string): Promise<State | null> {
  const text = await readFile(pathOf(dataDir), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return null
  })
  return text === null ? null : State.parse(JSON.parse(text))
}

async function saveState(dataDir: string, state: State): Promise<void> {
  await mkdir(dataDir, { recursive: true })
  const path = pathOf(dataDir)
  await writeFile(`${path}.new`, `${JSON.stringify(state)}\n`)
  await rename(`${path}.new`, path)
}

function pathOf(dataDir: string): string {
  return join(dataDir, 'demo.json')
}
