// Many projects at once, each with few events: what that costs, and how far behind sealing is.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock as clock } from '../src/clock.ts'
import { ask, freshSteps, largest, median, quantile, rounded, untilAsOf } from './ask.ts'
import { makeProject, memoryMb, type ServiceProcess } from './service-process.ts'
import { statementsOf, statementsPerSecond } from './statements.ts'

const MAKERS = 8
const SAMPLE = 50
const ASKS_AT_ONCE = 4
const POSTS_IN_FLIGHT_MAX = 512

type Project = Awaited<ReturnType<typeof makeProject>>

/** Posts for each project once a second, spread over it, in an open model; then asks some of them. */
export async function askManyProjects(
  service: ServiceProcess,
  load: {
    readonly projects: number
    /** Of each project. */
    readonly eventsPerSecond: number
    readonly seconds: number
  },
) {
  const projects = await makeProjects(service, load.projects)
  console.log(`${load.projects} projects are made`)
  const before = await statementsOf(service.url)
  const startedMs = clock.monotonicMs()
  const posted = await postForAll(service.url, projects, load)
  const tookS = (clock.monotonicMs() - startedMs) / 1_000
  const endedAtMs = clock.nowMs()
  const after = await statementsOf(service.url)
  const step = Math.max(1, Math.floor(projects.length / SAMPLE))
  const sample = projects.filter((_, index) => index % step === 0).slice(0, SAMPLE)
  const lagsMs = await lagsOf(service.url, sample)
  for (const { readKey } of sample) await untilAsOf(service.url, readKey, endedAtMs)
  const { latenciesMs } = posted
  return {
    ...load,
    acceptedPerSecond: rounded(posted.accepted / tookS, 1),
    ...{ accepted: posted.accepted, failedPosts: posted.failed, tookS: rounded(tookS, 1) },
    ...{ postP50Ms: rounded(median(latenciesMs)), postP99Ms: rounded(quantile(latenciesMs, 0.99)) },
    statementsPerSecond: statementsPerSecond(before, after, tookS),
    sampled: sample.length,
    ...{ lagMedianS: rounded(median(lagsMs) / 1_000, 2) },
    lagMaxS: rounded(largest(lagsMs) / 1_000, 2),
    sampleCoveredAfterS: rounded((clock.nowMs() - endedAtMs) / 1_000, 2),
    servicePeakMb: rounded((await memoryMb(service.pid)).peakMb),
  }
}

async function makeProjects(service: ServiceProcess, count: number): Promise<Project[]> {
  const projects: Project[] = []
  let left = count
  async function make(): Promise<void> {
    while (left-- > 0) projects.push(await makeProject(service))
  }
  await Promise.all(Array.from({ length: MAKERS }, make))
  return projects
}

async function postForAll(
  url: string,
  projects: readonly Project[],
  { eventsPerSecond, seconds }: { readonly eventsPerSecond: number; readonly seconds: number },
) {
  const latenciesMs: number[] = []
  let accepted = 0
  let failed = 0
  let inFlight = 0
  async function post({ writeKey }: Project): Promise<void> {
    const startMs = clock.monotonicMs()
    const headers = { authorization: `Bearer ${writeKey}` }
    const body = JSON.stringify(Array.from({ length: eventsPerSecond }, anEvent))
    const isTaken = await fetch(`${url}/v1/events`, { method: 'POST', headers, body }).then(
      async (response) => {
        await response.arrayBuffer()
        return response.ok
      },
      () => false,
    )
    if (isTaken) accepted += eventsPerSecond
    else failed++
    latenciesMs.push(clock.monotonicMs() - startMs)
  }

  const startedMs = clock.monotonicMs()
  const posts: Promise<void>[] = []
  for (let index = 0; index < seconds * projects.length; index++) {
    const waitMs = startedMs + (index * 1_000) / projects.length - clock.monotonicMs()
    if (waitMs > 0) await sleep(waitMs)
    // A sender that is so far behind has lost the post.
    if (inFlight >= POSTS_IN_FLIGHT_MAX) failed++
    else {
      inFlight++
      posts.push(post(projects[index % projects.length]!).finally(() => inFlight--))
    }
  }
  await Promise.all(posts)
  return { accepted, failed, latenciesMs }
}

function anEvent() {
  const properties = { path: '/pricing', country: 'DE' }
  const userId = Math.floor(Math.random() * 10_000)
  return { id: randomUUID(), event: 'page_view', userId, time: clock.nowMs(), properties }
}

/** How old each project's answer is, some asked at once. */
async function lagsOf(url: string, projects: readonly Project[]): Promise<number[]> {
  const lagsMs: number[] = []
  const left = [...projects]
  async function askOn(): Promise<void> {
    for (let project = left.pop(); project !== undefined; project = left.pop()) {
      const { answer } = await ask(url, project.readKey, { steps: freshSteps(['page_view']) })
      lagsMs.push(clock.nowMs() - Date.parse(answer.asOf))
    }
  }
  await Promise.all(Array.from({ length: ASKS_AT_ONCE }, askOn))
  return lagsMs
}
