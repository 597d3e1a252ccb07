import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { AppError } from '../error.ts'
import { SINGLE_NODE_OPTIONS, cassandraYaml } from './cassandra-settings.ts'
import { nativePort } from './ports.ts'
import { STOP_TIMEOUT_MS, lastErrorOf, type RunningNode, type Runtime } from './runtime.ts'

const IMAGE = 'cassandra:5.0'
/** Fetching the image is part of the first start. */
const RUN_TIMEOUT_MS = 900_000
const CONF = '/thousandfold'
const LOG_LINES = 200

export interface DockerRuntimeOptions {
  /** Holds the configuration; names the container and its volume, which holds the data. */
  readonly folder: string
  readonly dockerPath: string
  readonly settings: { readonly port: number; readonly heapMb: number }
}

/** Runs Cassandra as a container of the official image, through the docker command. */
export function openDockerRuntime({ folder, dockerPath, settings }: DockerRuntimeOptions): Runtime {
  const name = `thousandfold-${createHash('sha256').update(folder).digest('hex').slice(0, 12)}`

  async function docker(...command: string[]): Promise<string> {
    const ran = promisify(execFile)(dockerPath, command, { timeout: RUN_TIMEOUT_MS })
    const { stdout, stderr } = await ran.catch((error: unknown) => {
      const { stderr = '' } = error as { stderr?: string }
      const reason = stderr.trim().split('\n').at(-1) || String(error)
      throw new AppError('EMBEDDED_UNAVAILABLE', `docker ${command[0]}: ${reason}`, {
        cause: error,
      })
    })
    return command[0] === 'logs' ? stdout + stderr : stdout.trim()
  }

  /** Returns `running`, `exited` or the like; empty when there is no such container. */
  const stateOf = () =>
    docker('ps', '--all', '--filter', `name=^${name}$`, '--format', '{{.State}}')

  const runningNode = (port: number): RunningNode => ({
    name: `container ${name}`,
    nativePort: port,
    isAlive: async () => (await stateOf()) === 'running',
    async failure() {
      const logged = await docker('logs', '--tail', String(LOG_LINES), name)
      return `${lastErrorOf(logged)} (log: docker logs ${name})`
    },
    async stop() {
      await docker('stop', '--time', String(STOP_TIMEOUT_MS / 1_000), name)
    },
  })

  const publishedPort = async () => {
    const published = await docker('port', name, '9042/tcp')
    return Number(published.slice(published.lastIndexOf(':') + 1))
  }

  async function writeConfiguration(): Promise<string> {
    const conf = join(folder, 'conf')
    await mkdir(conf, { recursive: true })
    await chmod(conf, 0o755) // The container's user reads it.
    // The container's own address: Docker passes on what comes to the published port.
    const yaml = cassandraYaml({ heapMb: settings.heapMb, address: '0.0.0.0' })
    await writeFile(join(conf, 'cassandra.yaml'), yaml, { mode: 0o644 })
    return conf
  }

  return {
    async find() {
      return (await stateOf()) === 'running' ? runningNode(await publishedPort()) : null
    },

    async start() {
      // A container that has ended may have another port or heap; its data are in the volume.
      if ((await stateOf()) !== '') await docker('rm', '--force', name)
      const port = await nativePort(settings.port)
      const conf = await writeConfiguration()
      await docker(
        ...['run', '--detach', '--name', name, '--publish', `127.0.0.1:${port}:9042`],
        ...['--volume', `${name}:/var/lib/cassandra`, '--volume', `${conf}:${CONF}:ro,z`],
        ...['--env', `MAX_HEAP_SIZE=${settings.heapMb}M`],
        // Beside the image's own file, which its entry point edits.
        '--env',
        `JVM_EXTRA_OPTS=-Dcassandra.config=file://${CONF}/cassandra.yaml ${SINGLE_NODE_OPTIONS.join(' ')}`,
        IMAGE,
      )
      return runningNode(port)
    },
  }
}
