import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { declareMetrics } from '../../src/metrics.ts'
import { importsOf, read, sourcesOf } from '../support/sources.ts'

const FILE_LINES_MAX = 400
const FUNCTION_LINES_MAX = 70
/** Functions that are one list, without a branch: cut in two they would be harder to read. */
const LISTS = ['declareMetrics', 'cassandraYaml']

const files = sourcesOf('src')
/** What runs by itself: the command line, the threads, the SDK. */
const isRoot = (file: string) => /^cli\.ts$|-worker\.ts$|^sdk\//.test(file)

describe('the code', () => {
  test(`has no file over ${FILE_LINES_MAX} lines`, () => {
    const everywhere = ['src', 'test', 'bench', 'loadtest'].flatMap((folder) =>
      sourcesOf(folder).map((file) => `${folder}/${file}`),
    )
    const linesOf = (file: string) => read(file).trimEnd().split('\n').length
    expect(everywhere.filter((file) => linesOf(file) > FILE_LINES_MAX)).toEqual([])
  })

  test(`has no function over ${FUNCTION_LINES_MAX} lines, those within it not counted`, () => {
    const long = files.flatMap((file) =>
      functionsOf(file)
        .filter(({ name, lines }) => lines > FUNCTION_LINES_MAX && !LISTS.includes(name))
        .map(({ name, lines }) => `${file}: ${name}, ${lines} lines`),
    )
    expect(long).toEqual([])
  })

  test('has no file that nothing needs', () => {
    const needed = new Set<string>()
    const open = files.filter(isRoot)
    for (let file = open.pop(); file !== undefined; file = open.pop()) {
      if (needed.has(file)) continue
      needed.add(file)
      open.push(...importsOf(file).flatMap(({ isOurs, target }) => (isOurs ? [target] : [])))
    }
    expect(files.filter((file) => !needed.has(file))).toEqual([])
  })

  test('leaves nothing for later without an issue', () => {
    // In two parts, so as not to find itself.
    const left = new RegExp(`\\b(TO${'DO'}|FIX${'ME'})\\b(?!.*#\\d)`)
    const everywhere = ['src', 'test', 'bench', 'loadtest'].flatMap((folder) =>
      sourcesOf(folder).map((file) => `${folder}/${file}`),
    )
    expect(everywhere.filter((file) => left.test(read(file)))).toEqual([])
  })
})

describe('the documents', () => {
  const undocumented = (names: readonly string[], document: string) => {
    const text = read(document)
    return names.filter((name) => !text.includes(`\`${name}\``))
  }

  test('README.md tells of every error code', () => {
    const union = /export type ErrorCode =([^]*?)\n\n/.exec(read('src/error.ts'))![1]!
    const codes = [...union.matchAll(/'(\w+)'/g)].map(([, code]) => code!)
    expect(codes).toContain('INTERNAL')
    expect(undocumented(codes, 'README.md')).toEqual([])
  })

  test('README.md tells of every reason to refuse an event', () => {
    const union = /export type RejectionCode = (.*)/.exec(read('src/event/event.ts'))![1]!
    const codes = [...union.matchAll(/'(\w+)'/g)].map(([, code]) => code!)
    expect(codes).toContain('INVALID_EVENT')
    expect(undocumented(codes, 'README.md')).toEqual([])
  })

  test('README.md tells of every configuration variable', () => {
    const names = [...read('src/config.ts').matchAll(/^  ([A-Z][A-Z_]+):/gm)].map(
      ([, name]) => name!,
    )
    expect(names).toContain('CASSANDRA_CONTACT_POINTS')
    expect(undocumented(names, 'README.md')).toEqual([])
  })

  test('ARCHITECTURE.md tells of every metric', () => {
    const names = declareMetrics()
      .registry.getMetricsAsArray()
      .map(({ name }) => name)
    // Those of prom-client itself are told of as a whole.
    const ours = names.filter((name) => !/^(process|nodejs)_/.test(name))
    expect(ours).toContain('ingest_events_total')
    expect(undocumented(ours, 'ARCHITECTURE.md')).toEqual([])
  })
})

/** Every function of a file with the lines that are its own: those of functions within it are theirs. */
function functionsOf(file: string): { name: string; lines: number }[] {
  const source = ts.createSourceFile(file, read(`src/${file}`), ts.ScriptTarget.Latest, true)
  const found: { name: string; lines: number }[] = []
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line

  function visit(node: ts.Node): number {
    let within = 0
    ts.forEachChild(node, (child) => {
      within += visit(child)
    })
    if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return within
    const spanned = lineOf(node.end) - lineOf(node.getStart()) + 1
    const name = 'name' in node && node.name !== undefined ? node.name.getText() : '(no name)'
    found.push({ name, lines: spanned - within })
    // A function of one line shares it with the one around it.
    return spanned === 1 ? 0 : spanned
  }
  visit(source)
  return found
}
