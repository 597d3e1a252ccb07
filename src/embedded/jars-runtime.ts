import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import type { Logger } from '../log.ts'
import {
  LOGBACK_XML,
  NATIVE_PORT_ARGUMENT,
  cassandraYaml,
  javaArguments,
  storageArgument,
  type NodePorts,
} from './cassandra-settings.ts'
import { completeCommitLog } from './commit-log-tail.ts'
import {
  allPids,
  codeOf,
  commandLineOf,
  contentOf,
  identityOf,
  isAlive,
  stopProcess,
  type ProcessIdentity,
} from './os-process.ts'
import { freePort, nativePort } from './ports.ts'
import { STOP_TIMEOUT_MS, lastErrorOf, type RunningNode, type Runtime } from './runtime.ts'

export interface JarsRuntimeOptions {
  /** Holds configuration, data and log of the node. Absolute, without symbolic links. */
  readonly folder: string
  readonly javaPath: string
  readonly lib: string
  readonly settings: { readonly port: number; readonly heapMb: number }
  readonly clock: Clock
  readonly log: Logger
}

/** Runs Cassandra from its jars, as a process of its own that outlives a service that is killed. */
export function openJarsRuntime(options: JarsRuntimeOptions): Runtime {
  const { folder, javaPath, lib, settings, clock, log } = options
  const paths = {
    conf: join(folder, 'conf'),
    storage: join(folder, 'storage'),
    log: join(folder, 'log'),
    tmp: join(folder, 'tmp'),
    lib,
  }
  const logFile = join(paths.log, 'cassandra.log')
  const nodeFile = join(folder, 'node.json')

  function runningNode(identity: ProcessIdentity, port: number): RunningNode {
    return {
      name: `process ${identity.pid}`,
      nativePort: port,
      isAlive: () => isAlive(identity),
      async failure() {
        return `${lastErrorOf((await contentOf(logFile)) ?? '')} (log: ${logFile})`
      },
      async stop() {
        await stopProcess(identity, { timeoutMs: STOP_TIMEOUT_MS, clock })
        await rm(nodeFile, { force: true })
      },
    }
  }

  async function noted(identity: ProcessIdentity, port: number): Promise<RunningNode> {
    await writeFile(nodeFile, `${JSON.stringify({ ...identity, nativePort: port })}\n`)
    return runningNode(identity, port)
  }

  async function writeConfiguration(): Promise<void> {
    // What a killed JVM left in tmp: libraries that it had unpacked.
    await rm(paths.tmp, { recursive: true, force: true })
    for (const path of [join(paths.conf, 'triggers'), paths.storage, paths.log, paths.tmp])
      await mkdir(path, { recursive: true })
    const yaml = cassandraYaml({ heapMb: settings.heapMb, address: '127.0.0.1' })
    await writeFile(join(paths.conf, 'cassandra.yaml'), yaml)
    await writeFile(join(paths.conf, 'logback.xml'), LOGBACK_XML)
  }

  async function spawnJava(ports: NodePorts): Promise<ProcessIdentity> {
    const jamm = (await readdir(lib)).find((name) => /^jamm-[\d.]+\.jar$/.test(name)) ?? 'jamm.jar'
    const { heapMb } = settings
    const java = javaArguments(paths, { ports, heapMb, jamm: join(lib, jamm) })
    const output = await openLogFile(logFile)
    try {
      // A process group of its own: Ctrl-C reaches the service only, which then stops the node.
      const child = spawn(javaPath, java, {
        cwd: folder,
        detached: true,
        stdio: ['ignore', output.fd, output.fd],
      })
      await once(child, 'spawn')
      child.unref()
      const pid = child.pid!
      return (await identityOf(pid)) ?? { pid, startTicks: null }
    } finally {
      await output.close()
    }
  }

  return {
    async find() {
      const marker = `${storageArgument(paths.storage)} `
      const { pid: notedPid } = JSON.parse((await contentOf(nodeFile)) ?? '{}') as { pid?: number }
      // The note may be lost with a service that was killed in between: then all are asked.
      for (const pid of [...(notedPid === undefined ? [] : [notedPid]), ...(await allPids())]) {
        const commandLine = await commandLineOf(pid)
        if (!commandLine.includes(marker)) continue
        const identity = await identityOf(pid)
        if (identity !== null) return noted(identity, nativePortOf(commandLine))
      }
      return null
    },

    async start() {
      const native = await nativePort(settings.port)
      const storage = await freePort([native])
      const jmx = await freePort([native, storage])
      const ports = { native, storage, jmx }
      await writeConfiguration()
      const savedCount = await completeCommitLog(join(paths.storage, 'commitlog'))
      if (savedCount > 0) log.info({ savedCount }, 'completed the commit log of a killed Cassandra')
      return noted(await spawnJava(ports), native)
    },
  }
}

function nativePortOf(commandLine: string): number {
  const start = commandLine.indexOf(NATIVE_PORT_ARGUMENT) + NATIVE_PORT_ARGUMENT.length
  return Number.parseInt(commandLine.slice(start), 10)
}

/** Opens a new log; the one of the start before is kept beside it. */
async function openLogFile(path: string) {
  await rename(path, path.replace(/\.log$/, '.previous.log')).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })
  return open(path, 'a', 0o600)
}
