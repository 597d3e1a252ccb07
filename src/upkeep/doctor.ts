import type { Clock } from '../clock.ts'
import { BUCKET_COUNT } from '../event/bucket.ts'
import { dayOf } from '../event/day.ts'
import { openReadiness } from '../store/readiness.ts'
import { schemaDrift } from '../store/schema.ts'
import { openServerFacts } from '../store/server-facts.ts'
import type { Stores } from '../store/stores.ts'

const CLOCK_SKEW_MS_MAX = 1_000
const SKEW_DAYS = 3
const SKEW_BUCKETS_MIN = 50

export interface Finding {
  readonly check: string
  readonly isOk: boolean
  readonly message: string
  /** What to do about it; for findings that are not ok. */
  readonly remedy?: string
}

/** Looks at a keyspace and its cluster as the service's role; returns one finding a check or more. */
export async function examine(dependencies: {
  readonly stores: Stores
  readonly keyspace: string
  readonly clock: Clock
}): Promise<Finding[]> {
  const { stores, keyspace, clock } = dependencies
  const facts = openServerFacts(stores.session)
  const findings = [
    await connection(facts),
    await clockSkew(facts, clock),
    ...(await schema(stores, keyspace)),
  ]
  if (findings.some(({ check }) => check === 'migrations')) return findings
  return [...findings, await guardrails(facts), ...(await bucketSkew(stores, clock))]
}

type Facts = ReturnType<typeof openServerFacts>

async function connection(facts: Facts): Promise<Finding> {
  const { version, hostsUp } = await facts.read()
  return { check: 'connection', isOk: true, message: `Cassandra ${version}, ${hostsUp} host(s) up` }
}

async function guardrails(facts: Facts): Promise<Finding> {
  const isRefused = await facts.isFilteringRefused()
  if (isRefused) return { check: 'guardrails', isOk: true, message: 'in force for this role' }
  return {
    check: 'guardrails',
    isOk: false,
    message: 'ALLOW FILTERING was not refused',
    remedy:
      'log the service in as a role that is no superuser, with the guardrails of cql/ and src/embedded/cassandra-settings.ts',
  }
}

async function clockSkew(facts: Facts, clock: Clock): Promise<Finding> {
  const beforeMs = clock.nowMs()
  const { nowMs } = await facts.read()
  const skewMs = Math.round(nowMs - (beforeMs + clock.nowMs()) / 2)
  const isOk = Math.abs(skewMs) <= CLOCK_SKEW_MS_MAX
  const message = `Cassandra's clock is ${skewMs} ms from ours`
  return {
    check: 'clock',
    isOk,
    message,
    ...(isOk ? {} : { remedy: 'let all machines set their clocks by NTP' }),
  }
}

async function schema({ session }: Stores, keyspace: string): Promise<Finding[]> {
  const pending = await openReadiness(session)()
  const remedy = 'run `npx thousandfold migrate`'
  const found: Finding[] = pending.map((message) => ({
    check: 'migrations',
    isOk: false,
    message,
    remedy,
  }))
  if (found.length > 0) return found
  const drift = await schemaDrift(session, keyspace)
  const drifted: Finding[] = drift.map((message) => ({
    check: 'schema',
    isOk: false,
    message,
    remedy: 'change it back by hand; the schema is changed by migrations only',
  }))
  if (drifted.length > 0) return drifted
  return [{ check: 'schema', isOk: true, message: 'as the migrations left it' }]
}

/** User ids in steps of 10 fill a tenth of the buckets, and a tenth of the cluster does all the work. */
async function bucketSkew({ projects, eventBuckets }: Stores, clock: Clock): Promise<Finding[]> {
  const today = dayOf(clock.nowMs())
  const found: Finding[] = []
  for (const { projectId } of await projects.list()) {
    const buckets = new Set<number>()
    for await (const { bucketDays } of eventBuckets.list(projectId, today - SKEW_DAYS, today + 1))
      for (const { bucket } of bucketDays) buckets.add(bucket)
    const step = commonStep([...buckets])
    if (buckets.size < SKEW_BUCKETS_MIN || step === 1) continue
    found.push({
      check: 'buckets',
      isOk: false,
      message: `project ${projectId}: user ids go in steps of ${step}, so they fill ${BUCKET_COUNT / step} buckets of ${BUCKET_COUNT}`,
      remedy: 'send user ids that are spread evenly, for example hashed ones',
    })
  }
  if (found.length > 0) return found
  return [{ check: 'buckets', isOk: true, message: 'users are spread over the buckets' }]
}

/** Returns the largest step, a divisor of 1000, by which all of these buckets lie apart. */
function commonStep(buckets: readonly number[]): number {
  const [first = 0] = buckets
  const greatest = (a: number, b: number): number => (b === 0 ? a : greatest(b, a % b))
  return buckets.reduce((step, bucket) => greatest(step, Math.abs(bucket - first)), BUCKET_COUNT)
}
