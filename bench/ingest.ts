// Events accepted over HTTP, all tables written, beside latte's INSERTs into the `events` table alone:
// the same Cassandra, the same machine, in turns.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { makeProject, memoryMb, startServiceProcess } from './service-process.ts'

const run = promisify(execFile)
const ROUNDS = 4
const ROUND_S = 15
const WARM_UP_S = 30
const CONNECTIONS = 64
const BATCH_EVENTS = 20
const LATTE_CONCURRENCY = 128

interface Load {
  readonly eventsPerSecond: number
  readonly failed: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export async function ingest() {
  const latte = findLatte()
  const service = await startServiceProcess({ CASSANDRA_HEAP_MB: '2048', LOG_LEVEL: 'warn' })
  try {
    const { writeKey } = await makeProject(service)
    const insertsPerSecond = await openLatte(latte, service.dataDir)
    const load = async (seconds: number) => await runLoad(service.url, writeKey, seconds)
    console.log(`warming up for ${WARM_UP_S} s`)
    await load(WARM_UP_S)
    await insertsPerSecond(5)
    const rounds = []
    for (let round = 1; round <= ROUNDS; round++) {
      const http = await load(ROUND_S)
      const latteInsertsPerSecond = await insertsPerSecond(ROUND_S)
      rounds.push({ ...http, latteInsertsPerSecond })
      console.log(`round ${round}: ${JSON.stringify(rounds.at(-1))}`)
    }
    const { peakMb } = await memoryMb(service.pid)
    const ratios = rounds.map((round) => round.eventsPerSecond / round.latteInsertsPerSecond)
    return {
      bench: 'ingest',
      ratioToLatte: round2(median(ratios)),
      ratios: ratios.map(round2),
      eventsPerSecond: median(rounds.map((round) => round.eventsPerSecond)),
      latteInsertsPerSecond: median(rounds.map((round) => round.latteInsertsPerSecond)),
      p50Ms: median(rounds.map((round) => round.p50Ms)),
      p99Ms: median(rounds.map((round) => round.p99Ms)),
      failed: rounds.reduce((sum, { failed }) => sum + failed, 0),
      rssMb: Math.round(peakMb),
    }
  } finally {
    await service.close()
  }
}

/** Sends as much as is taken for some seconds, from a process of its own. */
export async function runLoad(url: string, writeKey: string, seconds: number): Promise<Load> {
  const script = join(import.meta.dirname, 'load.ts')
  const values = [CONNECTIONS, seconds, BATCH_EVENTS].map(String)
  const { stdout } = await run(process.execPath, [
    '--import',
    'tsx',
    script,
    url,
    writeKey,
    ...values,
  ])
  return JSON.parse(stdout) as Load
}

function findLatte(): string {
  const folders = [...(process.env['PATH'] ?? '').split(':'), join(homedir(), '.cargo', 'bin')]
  const latte = folders.map((folder) => join(folder, 'latte')).find((path) => existsSync(path))
  if (latte === undefined) throw new Error('latte is missing: cargo install latte-cli')
  return latte
}

/** Returns a function that runs latte for some seconds, and returns its INSERTs a second. */
async function openLatte(latte: string, dataDir: string) {
  const logins = JSON.parse(
    await readFile(join(dataDir, 'cassandra', 'credentials.json'), 'utf8'),
  ) as { service: { username: string; password: string } }
  const { contactPoints } = JSON.parse(await readFile(join(dataDir, 'service.json'), 'utf8')) as {
    contactPoints: string[]
  }
  const workload = join(dataDir, 'events.rn')
  await writeFile(workload, WORKLOAD)
  const { username, password } = logins.service
  return async (seconds: number): Promise<number> => {
    const values = ['-d', `${seconds}s`, '-w', '1s', '-p', String(LATTE_CONCURRENCY), '-q']
    const login = ['--user', username, '--password', password]
    const { stdout } = await run(latte, ['run', workload, contactPoints[0]!, ...login, ...values], {
      cwd: dataDir,
    })
    const found = /Throughput\s+\[op\/s\]\s+(\d+)/.exec(stdout)
    if (found === null) throw new Error(`latte says:\n${stdout}`)
    return Number(found[1])
  }
}

// The row that the service writes for an event of the load, written by a native client alone.
const WORKLOAD = `
pub async fn prepare(db) {
    db.prepare("insert", "INSERT INTO thousandfold.events (project, bucket, day, event_time, event_id,
      user_id, event, properties) VALUES ('latte', ?, 20787, ?, ?, ?, 'page_view',
      '{\\"path\\":\\"/pricing/1\\",\\"country\\":\\"DE\\",\\"browser\\":\\"Firefox\\",\\"utm_source\\":\\"google\\",\\"plan\\":\\"pro\\"}') USING TTL 34560000").await?;
}
pub async fn run(db, i) {
    let id = latte::uuid(i);
    db.execute_prepared("insert", [i % 1000, 1796040000000 + i % 5000, id, \`4711\`]).await?;
}
`

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle) - 1]!) / 2
}

function round2(value: number): number {
  return Math.round(value * 100) / 100
}
