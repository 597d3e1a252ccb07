// The sealer is killed with SIGKILL at a random moment, again and again, while events come, some of them
// late, some of them twice. Asks: are segments ever other than the rows, is an event lost or doubled?
import { once } from 'node:events'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock as clock } from '../src/clock.ts'
import type { Statement } from '../src/store/session.ts'
import type { Stores } from '../src/store/stores.ts'
import { openKillsCheck, type Check } from './kills-check.ts'
import { openSender } from './kills-sender.ts'
import { openStoresOf } from './open-stores.ts'
import { sealOnce, spawnSeal } from './seal-process.ts'
import { makeProject, startServiceProcess, type ServiceProcess } from './service-process.ts'

const CHECK_ROUNDS = 20
const KILL_MS_MIN = 200
/** On a busy machine a first pass takes longer: then more is hit with a later end (KILL_MS_MAX). */
const KILL_MS_MAX = Number(process.env['KILL_MS_MAX'] ?? 2_500)
// A killed sealer's lease would keep the next one idle for 20 seconds.
const FREE_LEASE: Statement = {
  table: 'seal_leases',
  operation: 'free',
  cql: 'DELETE FROM seal_leases WHERE project = ? IF EXISTS',
  isIdempotent: false,
}

export async function kills() {
  const killCount = Number(process.env['KILLS'] ?? 200)
  const startedMs = clock.monotonicMs()
  const service = await startServiceProcess({ SEALING: 'off', LOG_LEVEL: 'warn' })
  const { stores, close } = await openStoresOf(service)
  try {
    const { id: projectId, writeKey, readKey } = await makeProject(service)
    const sender = openSender(service.url, writeKey)
    const check = openKillsCheck(service.url, readKey, sender)
    const checks: Check[] = []
    const seen = { killed: 0, published: 0, merged: 0 }
    for (let round = 1; round <= killCount; round++) {
      await killOne({ service, stores, projectId, seen })
      sender.throwFailure()
      if (round % CHECK_ROUNDS !== 0) continue
      checks.push(await check())
      console.log(`${round} kills: ${JSON.stringify({ ...seen, ...checks.at(-1) })}`)
    }
    await sender.stop()
    await sealOnce(service)
    checks.push(await check())
    const sum = (of: (check: Check) => number) => checks.reduce((total, at) => total + of(at), 0)
    return {
      ...{ bench: 'kills', kills: seen.killed, ...sender.counts() },
      ...{ roundsPublished: seen.published, roundsMerged: seen.merged, checks: checks.length },
      ...{ unequal: sum((at) => at.unequal), lost: sum((at) => at.lost) },
      doubled: sum((at) => at.doubled),
      tookS: Math.round((clock.monotonicMs() - startedMs) / 1_000),
    }
  } finally {
    await close()
    await service.close()
  }
}

/** Kills a sealer a random while after it began; notes what it, and it alone, had published by then. */
async function killOne(round: {
  readonly service: ServiceProcess
  readonly stores: Stores
  readonly projectId: string
  readonly seen: { killed: number; published: number; merged: number }
}): Promise<void> {
  const { service, stores, projectId, seen } = round
  await stores.session.compareAndSet(FREE_LEASE, [projectId])
  const before = await stores.snapshots.settledRoot(projectId)
  const child = spawnSeal(service, [])
  child.stdout!.resume()
  const ended = once(child, 'exit')
  // It says so when it begins, after a second or so of its start.
  await Promise.race([once(child.stderr!, 'data'), ended])
  child.stderr!.resume()
  await sleep(KILL_MS_MIN + Math.random() * (KILL_MS_MAX - KILL_MS_MIN))
  if (child.kill('SIGKILL')) seen.killed++
  await ended
  const after = await stores.snapshots.settledRoot(projectId)
  if (after.version !== before.version) seen.published++
  const pages = (published: typeof after) => JSON.stringify(published.root?.pages ?? {})
  if (pages(after) !== pages(before)) seen.merged++
}
