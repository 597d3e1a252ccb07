// Cassandra's nodetool, and what it keeps on disk, of a service's embedded node. Its jars hold the tool.
import { execFile } from 'node:child_process'
import { readFile, readdir, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { commandLineOf } from '../src/embedded/os-process.ts'
import { openJars } from '../src/embedded/jars.ts'
import { findJava } from '../src/embedded/tools.ts'

const KEYSPACE = 'thousandfold'
const TIMEOUT_MS = 600_000

/** Writes what is in memory to disk, and makes one table on disk of several. */
export async function flushAndCompact(dataDir: string): Promise<void> {
  await nodeTool(dataDir, ['flush', KEYSPACE])
  await nodeTool(dataDir, ['compact', KEYSPACE])
}

async function nodeTool(dataDir: string, values: readonly string[]): Promise<void> {
  const note = await readFile(join(dataDir, 'cassandra', 'node.json'), 'utf8')
  const { pid } = JSON.parse(note) as { pid: number }
  const commandLine = await commandLineOf(pid)
  const port = /-Dcassandra\.jmx\.local\.port=(\d+)/.exec(commandLine)?.[1]
  if (port === undefined) throw new Error(`process ${pid} tells no port of JMX`)
  const { PATH: searchPath = '', JAVA_HOME: javaHome, CACHE_DIR: cacheDir } = process.env
  const java = await findJava({ searchPath, javaHome })
  if (java.path === null) throw new Error('Java 17 is missing')
  const { lib } = await openJars(cacheDir ?? join(homedir(), '.cache', 'thousandfold'))
  const storage = `-Dcassandra.storagedir=${join(dataDir, 'node-tool')}`
  // Its classes need the same openings of Java's own modules as the node's.
  const openings = commandLine.match(/--add-(?:exports|opens)[= ]\S+/g) ?? []
  const tool = [
    ...openings.flatMap((opening) => opening.split(' ')),
    '-cp',
    join(lib, '*'),
    storage,
    'org.apache.cassandra.tools.NodeTool',
    '-p',
    port,
  ]
  await promisify(execFile)(java.path, [...tool, ...values], {
    env: { ...process.env, HOME: dataDir },
    timeout: TIMEOUT_MS,
  })
}

/** Bytes of each table's files: data, indexes, filters, statistics. */
export async function bytesByTable(dataDir: string): Promise<Record<string, number>> {
  const folder = join(dataDir, 'cassandra', 'storage', 'data', KEYSPACE)
  const bytes: Record<string, number> = {}
  for (const entry of (await readdir(folder)).sort()) {
    const table = entry.replace(/-[0-9a-f]{32}$/, '')
    for (const file of await readdir(join(folder, entry), { withFileTypes: true })) {
      // Folders are snapshots and backups; a file that is merged away may go at any time.
      if (!file.isFile()) continue
      const found = await stat(join(folder, entry, file.name)).catch(absent)
      bytes[table] = (bytes[table] ?? 0) + (found?.size ?? 0)
    }
  }
  return bytes
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code !== 'ENOENT') throw error
  return null
}
