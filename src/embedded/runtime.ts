import { connect } from 'node:net'
import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import type { Logger } from '../log.ts'
import { prepareRoles, type Logins } from '../store/roles.ts'
import { LOCAL_DATA_CENTER } from './cassandra-settings.ts'
import { holdsWithin } from './os-process.ts'

export const START_TIMEOUT_MS = 180_000
export const ORPHAN_ANSWER_TIMEOUT_MS = 30_000
/** How long a node may take to write down what it holds in memory, before it is killed. */
export const STOP_TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 1_000
const POLL_MS = 100

export interface RunningNode {
  /** For the log: a process or a container. */
  readonly name: string
  readonly nativePort: number
  readonly isAlive: () => Promise<boolean>
  /** What its log last says that went wrong, and where to read on. */
  readonly failure: () => Promise<string>
  /** Returns when it has ended. */
  readonly stop: () => Promise<void>
}

/** A way to run one Cassandra over the data of one folder. */
export interface Runtime {
  /** Returns a node that an earlier service left running on the folder; null when there is none. */
  readonly find: () => Promise<RunningNode | null>
  readonly start: () => Promise<RunningNode>
}

export interface NodeOptions {
  readonly logins: Logins
  readonly clock: Clock
  readonly log: Logger
  readonly orphanAnswerTimeoutMs?: number
}

/**
 * Returns the folder's only node, and one that the service can log in to: an orphan that answers, else
 * a new one. Throws EMBEDDED_UNAVAILABLE, with what Cassandra's log says, when it does not come up.
 */
export async function openNode(runtime: Runtime, options: NodeOptions): Promise<RunningNode> {
  const { log, clock, orphanAnswerTimeoutMs = ORPHAN_ANSWER_TIMEOUT_MS } = options
  const orphan = await runtime.find()
  if (orphan !== null) {
    const { name, nativePort } = orphan
    log.info({ node: name, nativePort }, 'Cassandra was left running: taking it over')
    if ((await whyNotUp(orphan, options, orphanAnswerTimeoutMs)) === null) return orphan
    log.warn({ node: name }, 'the Cassandra that was left running does not answer: replacing it')
    await orphan.stop()
  }
  const startedAtMs = clock.monotonicMs()
  const node = await runtime.start()
  const reason = await whyNotUp(node, options, START_TIMEOUT_MS)
  if (reason === null) {
    const tookMs = Math.round(clock.monotonicMs() - startedAtMs)
    log.info({ node: node.name, nativePort: node.nativePort, tookMs }, 'Cassandra is up')
    return node
  }
  const failure = await node.failure()
  await node.stop()
  throw new AppError('EMBEDDED_UNAVAILABLE', `Cassandra did not start: ${reason}; ${failure}`)
}

/** Waits until the node takes our logins; returns null then, else why it does not. */
async function whyNotUp(
  node: RunningNode,
  { logins, clock }: NodeOptions,
  timeoutMs: number,
): Promise<string | null> {
  const { nativePort } = node
  const address = {
    contactPoint: `127.0.0.1:${nativePort}`,
    localDataCenter: LOCAL_DATA_CENTER,
  }
  let reason: string | null = `nothing listens on port ${nativePort}`
  const isSettled = async () => {
    if (!(await node.isAlive())) {
      reason = `${node.name} ended`
      return true
    }
    if (!(await accepts(nativePort))) return false
    reason = await prepareRoles(address, logins).then(
      () => null,
      // Normal for a moment: the port opens before the roles are there to be asked.
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
    return reason === null
  }
  const isInTime = await holdsWithin(isSettled, { timeoutMs, pollMs: POLL_MS, clock })
  return isInTime ? reason : `no answer within ${timeoutMs / 1_000} s (${reason})`
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: CONNECT_TIMEOUT_MS })
    const settle = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', () => settle(true))
    socket.once('timeout', () => settle(false))
    socket.once('error', () => settle(false))
  })
}

/** Returns the last line of a log that tells of an error, with the exception that it names. */
export function lastErrorOf(logText: string): string {
  const lines = logText.trimEnd().split('\n')
  const index = lines.findLastIndex((line) => /^(ERROR|FATAL|Error|Exception)\b/.test(line))
  const line = lines.at(index) ?? ''
  const next = index < 0 ? undefined : lines[index + 1]
  const isException = next !== undefined && /^[\w.$]+(Exception|Error)\b/.test(next)
  return isException ? `${line}: ${next}` : line
}
