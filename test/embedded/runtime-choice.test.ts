import { once } from 'node:events'
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { systemClock as clock } from '../../src/clock.ts'
import { openDatabase, type DatabaseConfig } from '../../src/embedded/database.ts'
import { openJars } from '../../src/embedded/jars.ts'
import { findProgram } from '../../src/embedded/tools.ts'
import { temporaryFolder } from '../support/data-dir.ts'
import { embeddedConfig, silentLog } from '../support/embedded.ts'

const folder = await temporaryFolder()
afterAll(() => folder.remove())

const emptyFolder = join(folder.path, 'empty')
await mkdir(emptyFolder)
const nothingInstalled: DatabaseConfig = {
  ...embeddedConfig(join(folder.path, 'data')),
  CASSANDRA_RUNTIME: 'auto',
  PATH: emptyFolder,
  JAVA_HOME: undefined,
}

function open(config: DatabaseConfig) {
  return openDatabase({ config, log: silentLog, clock })
}

test('a given Cassandra is used as it is given', async () => {
  const database = await open({
    ...nothingInstalled,
    CASSANDRA_CONTACT_POINTS: ['db1:9042', 'db2:9042'],
    CASSANDRA_LOCAL_DC: 'west',
    CASSANDRA_USERNAME: 'ada',
    CASSANDRA_PASSWORD: 'secret',
  })
  const ada = { username: 'ada', password: 'secret' }
  expect(database).toMatchObject({
    contactPoints: ['db1:9042', 'db2:9042'],
    localDataCenter: 'west',
    service: ada,
    migration: ada,
    runtime: 'given',
  })
  await database.close()
})

test('without Java, Maven and Docker one line says what to install', async () => {
  await expect(open(nothingInstalled)).rejects.toMatchObject({
    code: 'EMBEDDED_UNAVAILABLE',
    message:
      'there is no way to run Cassandra here (no Java 17; no Docker engine that answers): install ' +
      'Java 17 and Maven (apt-get install openjdk-17-jre-headless maven), or install Docker, or set ' +
      'CASSANDRA_CONTACT_POINTS to a running Cassandra',
  })
})

test('a Java of another version is named', async () => {
  const bin = join(folder.path, 'java21')
  await mkdir(bin)
  await writeFile(join(bin, 'java'), `#!/bin/sh\necho 'openjdk version "21.0.4" 2024-07-16' >&2\n`)
  await chmod(join(bin, 'java'), 0o755)
  await expect(open({ ...nothingInstalled, PATH: bin })).rejects.toThrow(
    `no Java 17, only 21 (${bin}/java)`,
  )
})

test('data of Docker are not left behind for an empty node of the jars', async () => {
  const dataDir = join(folder.path, 'docker-data')
  await mkdir(join(dataDir, 'cassandra-docker'), { recursive: true })
  const config = { ...embeddedConfig(dataDir), CASSANDRA_RUNTIME: 'auto' as const }
  await expect(open({ ...config, PATH: emptyFolder })).rejects.toThrow(
    /\(no Docker engine that answers\): start Docker, or/,
  )
})

test('a busy port is named, with the way out', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const dataDir = join(folder.path, 'busy')
  const config = { ...embeddedConfig(dataDir), CASSANDRA_PORT: port }
  await expect(open(config)).rejects.toMatchObject({
    code: 'EMBEDDED_UNAVAILABLE',
    message: expect.stringMatching(
      new RegExp(`port ${port} is in use .* CASSANDRA_PORT \\(0 picks a free one\\)`),
    ) as string,
  })
  expect(await readdir(dataDir)).not.toContain('service.lock')
  server.close()
})

test('a node that ends while it starts tells why, and where its log is', async () => {
  const dataDir = join(folder.path, 'broken')
  const storage = join(dataDir, 'cassandra', 'storage')
  await mkdir(storage, { recursive: true })
  await writeFile(join(storage, 'data'), 'a file where a folder has to be')
  await expect(open(embeddedConfig(dataDir))).rejects.toMatchObject({
    code: 'EMBEDDED_UNAVAILABLE',
    message: expect.stringMatching(/storage\/data.*\(log: .*cassandra\.log\)$/) as string,
  })
})

test('two that fetch the jars at once leave one whole folder', async () => {
  const cacheDir = join(folder.path, 'cache')
  const mavenPath = (await findProgram('mvn', embeddedConfig('').PATH))!
  const first = await openJars(cacheDir)
  const second = await openJars(cacheDir)
  expect(first.areFetched()).toBe(false)
  await Promise.all([first.fetch(mavenPath, silentLog), second.fetch(mavenPath, silentLog)])
  expect(first.areFetched()).toBe(true)
  expect(await readdir(cacheDir)).toHaveLength(1)
  expect(await readdir(second.lib)).toContain(`cassandra-all-${second.version}.jar`)
})

test('a fetch that fails leaves nothing that could be taken for the jars', async () => {
  const cacheDir = join(folder.path, 'failed-cache')
  const bin = join(folder.path, 'failing-mvn')
  const script = '#!/bin/sh\nmkdir lib && : > lib/half.jar\necho "[ERROR] no network"\nexit 1\n'
  await writeFile(bin, script)
  await chmod(bin, 0o755)
  const jars = await openJars(cacheDir)
  await expect(jars.fetch(bin, silentLog)).rejects.toThrow('[ERROR] no network')
  expect(jars.areFetched()).toBe(false)
  expect(await readdir(cacheDir)).toEqual([])
})
