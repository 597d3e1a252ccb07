import { describe, expect, test } from 'vitest'
import { importsOf, importsWithin, read, sourcesOf } from '../support/sources.ts'

/** Which folders a folder may import, beside itself and the plain files of `src`. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  event: [],
  wire: ['event'],
  segment: ['event'],
  analysis: ['segment'],
  store: ['event', 'segment'],
  ingest: ['event', 'wire', 'segment', 'store'],
  seal: ['event', 'segment', 'store'],
  query: ['event', 'wire', 'segment', 'analysis', 'store'],
  upkeep: ['event', 'segment', 'store', 'seal', 'query'],
  demo: ['event'],
  http: ['wire', 'ingest', 'query', 'upkeep', 'store'],
  cli: [
    ...['event', 'wire', 'segment', 'analysis', 'store', 'ingest', 'seal', 'query', 'upkeep'],
    ...['demo', 'embedded'],
  ],
  embedded: [
    ...['event', 'wire', 'segment', 'analysis', 'store', 'ingest', 'seal', 'query', 'upkeep'],
    ...['demo', 'cli'],
  ],
  sdk: ['wire'],
  dashboard: ['wire'],
}

/** The composition roots know everything; only these may know them. */
const ROOTS = ['main.ts', 'cli.ts']
const MAY_IMPORT_MAIN = ['cli/start.ts', 'cli/serve.ts', 'cli/run-service.ts']

/** Where a package may be imported: a folder or a file of `src`. */
const PACKAGE_HOMES: Record<string, readonly string[]> = {
  'cassandra-driver': ['store'],
  hono: ['http', 'main.ts'],
  '@hono/node-server': ['http'],
  '@js-temporal/polyfill': ['query', 'cli'],
  'cli-progress': ['cli'],
  commander: ['cli', 'cli.ts'],
  'csv-parse': ['cli'],
  'csv-stringify': ['http', 'cli'],
  'lru-cache': ['store', 'seal', 'query'],
  'p-limit': ['ingest', 'store', 'seal', 'query', 'upkeep', 'http', 'cli'],
  pino: ['log.ts'],
  'prom-client': ['metrics.ts'],
  re2js: ['analysis'],
  zod: ['wire', 'http', 'cli', 'embedded', 'config.ts'],
}

/** The pure folders: no clock, no network, no files. */
const PURE = ['event', 'segment', 'analysis', 'demo']
const PURE_MODULES = ['node:assert', 'node:buffer', 'node:crypto', 'node:zlib', 're2js']

const files = sourcesOf('src')
const folderOf = (path: string) => (path.includes('/') ? path.slice(0, path.indexOf('/')) : null)

/** Every import that `isAllowed` does not let pass, as `file -> target`. */
function wrongImports(isAllowed: (file: string, target: string) => boolean, isOurs: boolean) {
  return files.flatMap((file) =>
    importsOf(file)
      .filter((one) => one.isOurs === isOurs && !isAllowed(file, one.target))
      .map(({ target }) => `${file} -> ${target}`),
  )
}

describe('imports', () => {
  test('go only the ways of the table', () => {
    const isAllowed = (file: string, target: string) => {
      const [from, to] = [folderOf(file), folderOf(target)]
      if (to === null) return true
      return from === null ? ROOTS.includes(file) : from === to || MAY_IMPORT[from]!.includes(to)
    }
    expect(wrongImports(isAllowed, true)).toEqual([])
  })

  test('lead into no folder that the table does not know', () => {
    const folders = new Set(files.map(folderOf).filter((folder) => folder !== null))
    expect([...folders].filter((folder) => !(folder in MAY_IMPORT))).toEqual([])
  })

  test('leave the composition roots to those that run them', () => {
    const isAllowed = (file: string, target: string) =>
      !ROOTS.includes(target) || (target === 'main.ts' && MAY_IMPORT_MAIN.includes(file))
    expect(wrongImports(isAllowed, true)).toEqual([])
  })

  test('name only files that there are', () => {
    expect(wrongImports((_, target) => files.includes(target), true)).toEqual([])
  })

  test('of a package stay in its home', () => {
    const isAllowed = (file: string, target: string) => {
      if (target.startsWith('node:')) return true
      const homes = PACKAGE_HOMES[packageOf(target)] ?? []
      return homes.includes(file) || homes.includes(folderOf(file) ?? '')
    }
    expect(wrongImports(isAllowed, false)).toEqual([])
  })

  test('of the pure folders bring no clock, network or files', () => {
    const isAllowed = (file: string, target: string) =>
      !PURE.includes(folderOf(file) ?? '') || PURE_MODULES.includes(target)
    expect(wrongImports(isAllowed, false)).toEqual([])
  })

  test('are of packages that a user of ours gets, and of all of them', () => {
    const { dependencies } = JSON.parse(read('package.json')) as {
      dependencies: Record<string, string>
    }
    const imported = files
      .flatMap(importsOf)
      .filter(({ isOurs, target }) => !isOurs && !target.startsWith('node:'))
      .map(({ target }) => packageOf(target))
    expect([...new Set(imported)].toSorted()).toEqual(Object.keys(dependencies).toSorted())
  })
})

describe('the outer world', () => {
  const placesOf = (pattern: RegExp) => files.filter((file) => pattern.test(read(`src/${file}`)))

  test('the environment is read in config.ts only', () => {
    expect(placesOf(/\bprocess\.env\b|\bloadEnvFile\b/)).toEqual(['config.ts'])
  })

  test('the clocks are read in clock.ts and the SDK only', () => {
    const readers = placesOf(/\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bhrtime\b/)
    expect(readers.filter((file) => folderOf(file) !== 'sdk')).toEqual(['clock.ts'])
  })

  test('the pure folders wait for nothing', () => {
    const waiting = placesOf(/\basync\b|\bawait\b|\bPromise\b|\bsetTimeout\b/)
    expect(waiting.filter((file) => PURE.includes(folderOf(file) ?? ''))).toEqual([])
  })
})

describe('a k6 script', () => {
  const scripts = sourcesOf('loadtest').filter((file) => folderOf(file) !== 'runner')

  test('imports only what k6 has and what is mounted with it', () => {
    const wrong = scripts.flatMap((file) =>
      importsWithin('loadtest', file)
        .filter(({ isOurs, target }) =>
          isOurs ? !scripts.includes(target) : packageOf(target) !== 'k6',
        )
        .map(({ target }) => `${file} -> ${target}`),
    )
    expect(scripts).toContain('smoke.ts')
    expect(wrong).toEqual([])
  })
})

function packageOf(target: string): string {
  const [scope = '', name = ''] = target.split('/')
  return scope.startsWith('@') ? `${scope}/${name}` : scope
}
