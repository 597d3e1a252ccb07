import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { registerImport } from '../../../src/cli/import.ts'
import { temporaryFolder } from '../../support/data-dir.ts'
import { runCommand } from '../../support/command-line.ts'
import { openFakeService, problem, type Asked, type SentEvent } from '../../support/fake-service.ts'

const MAP = ['--map', 'user=user_id,time=timestamp']
const HEADER = 'user_id,event,timestamp,plan'

const folder = await temporaryFolder()
afterAll(folder.remove)
const service = await openFakeService()
let dataDir = ''
let count = 0
beforeEach(() => {
  service.reset()
  dataDir = join(folder.path, `data-${++count}`)
})

/** A file of this many good rows, one a line, from line 2. */
function csvOf(rowCount: number): string {
  const rows = Array.from({ length: rowCount }, (_, index) => rowOf(`u${index}`))
  return [HEADER, ...rows, ''].join('\n')
}

function rowOf(user: string, event = 'visit', time = '2026-11-30 12:00:00'): string {
  return `${user},${event},${time},pro`
}

async function fileOf(name: string, content: string | Buffer): Promise<string> {
  const path = join(folder.path, `${++count}-${name}`)
  await writeFile(path, content)
  return path
}

function runImport(file: string, words: readonly string[] = MAP, stop?: AbortSignal) {
  const target = ['--url', service.url, '--key', 'tf_w_key']
  return runCommand(
    registerImport,
    ['import', file, ...target, ...words],
    { DATA_DIR: dataDir },
    stop,
  )
}

const eventsIn = ({ body }: Asked) => (JSON.parse(body) as { events: SentEvent[] }).events
const users = () => [...service.events.values()].map(({ userId }) => userId)
const usersOf = (rowCount: number, from = 0) =>
  Array.from({ length: rowCount - from }, (_, index) => `u${from + index}`)

async function refusedLines(): Promise<unknown[]> {
  const names = await readdir(join(dataDir, 'imports'))
  const name = names.find((one) => one.endsWith('.rejected.ndjson'))
  if (name === undefined) return []
  const text = await readFile(join(dataDir, 'imports', name), 'utf8')
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
}

describe('an import', () => {
  test('sends every row once, with the key, and says how many', async () => {
    const { code, out } = await runImport(await fileOf('a.csv', csvOf(1_203)))
    expect(code).toBe(0)
    expect(out).toMatch(/^read 1203, accepted 1203, refused 0; [\d.]+ s, \d+ events\/s\n$/)
    expect(users().toSorted()).toEqual(usersOf(1_203).toSorted())
    expect(service.asked.map(({ headers }) => headers.authorization)).toEqual(
      Array(3).fill('Bearer tf_w_key'),
    )
    expect([...service.events.values()][0]).toMatchObject({
      ...{ event: 'visit', time: Date.parse('2026-11-30T12:00:00Z'), properties: { plan: 'pro' } },
    })
  })

  test('made again sends the same events, also of the file gzipped under any name', async () => {
    const content = csvOf(30)
    await runImport(await fileOf('a.csv', content))
    const first = new Map(service.events)
    expect(first.size).toBe(30)
    for (const file of [
      await fileOf('a.csv', content),
      await fileOf('a.csv.gz', gzipSync(content)),
      await fileOf('packed', gzipSync(content)),
    ]) {
      service.reset()
      expect((await runImport(file)).code).toBe(0)
      expect(service.events).toEqual(first)
    }
  })

  test('of NDJSON takes events as the API has them', async () => {
    const event = { event: 'visit', userId: 7, time: '2026-11-30T12:00:00Z', properties: { a: 1 } }
    await runImport(await fileOf('data', `${JSON.stringify(event)}\r\n`), [])
    expect([...service.events.values()]).toMatchObject([{ userId: 7, properties: { a: 1 } }])
  })

  test('sends at most as many events and bytes in a request as are allowed', async () => {
    const wide = `${HEADER}\n${`${rowOf('u')}${'x'.repeat(30_000)}\n`.repeat(100)}`
    await runImport(await fileOf('wide.csv', wide))
    expect(service.events.size).toBe(100)
    expect(Math.max(...service.asked.map(({ body }) => body.length))).toBeLessThan(950_000)
    service.reset()
    await runImport(await fileOf('a.csv', csvOf(95)), [...MAP, '--batch', '10'])
    expect(service.asked.map((one) => eventsIn(one).length).toSorted((a, b) => b - a)).toEqual([
      ...Array<number>(9).fill(10),
      5,
    ])
  })

  test('tells bad lines by number and reason, keeps them, and takes the others', async () => {
    const rows = [
      rowOf('u0'),
      'too,few',
      rowOf('', 'visit'),
      rowOf('u1', 'refuse me'),
      rowOf('u2', '"a\nb"'),
      rowOf('u3', 'visit', 'soon'),
      '"x" y,1,2,3',
      rowOf('u4'),
    ]
    const file = await fileOf('bad.csv', `\ufeff${[HEADER, ...rows].join('\r\n')}`)
    const { code, out } = await runImport(file)
    expect(code).toBe(3)
    expect(users()).toEqual(['u0', 'u2', 'u4'])
    expect(out).toContain('read 8, accepted 3, refused 5;')
    expect(out).toContain('  line 3: UNREADABLE: 2 fields, where the header has 4\n')
    expect(out).toContain('  line 5: INVALID_EVENT: as asked\n')
    expect(await refusedLines()).toMatchObject([
      { line: 3, code: 'UNREADABLE', raw: 'too,few\r' },
      { line: 4, code: 'INVALID_EVENT', reason: 'no user' },
      { line: 5, code: 'INVALID_EVENT', reason: 'as asked' },
      { line: 8, code: 'INVALID_EVENT', reason: 'not a time: "soon"' },
      { line: 9, code: 'UNREADABLE' },
    ])
  })

  test('shows the first five bad lines and keeps all, byte by byte', async () => {
    const bad = Buffer.from([0x4a, 0xe9, 0x0a])
    const file = await fileOf(
      'bad.csv',
      Buffer.concat([Buffer.from(`${HEADER}\n`), ...Array<Buffer>(7).fill(bad)]),
    )
    const { out } = await runImport(file)
    expect(out.match(/ {2}line \d+: UNREADABLE: not UTF-8/g)).toHaveLength(5)
    expect(await refusedLines()).toHaveLength(7)
    expect((await refusedLines())[0]).toMatchObject({ line: 2, raw: 'J\u00e9' })
  })

  test('with --json says all of it in one document', async () => {
    const file = await fileOf('a.csv', `${HEADER}\n${rowOf('u0')}\nbad\n`)
    const { code, out } = await runImport(file, [...MAP, '--json'])
    expect(code).toBe(3)
    expect(JSON.parse(out)).toMatchObject({
      ...{ file, isDone: true, read: 2, accepted: 1, refused: 1 },
      refusedLines: [{ line: 3, code: 'UNREADABLE', raw: 'bad' }],
      refusedFile: expect.stringContaining('.rejected.ndjson') as string,
    })
  })
})

describe('an import in trouble', () => {
  const SLOW = [...MAP, '--batch', '10', '--concurrency', '1']

  test('sends again what a busy or absent service did not take', async () => {
    const troubles = [
      problem(503, 'OVERLOADED', { 'retry-after': '0' }),
      problem(429, 'OVERLOADED', { 'retry-after': '0' }),
      [502, '<h1>Bad gateway</h1>', { 'retry-after': '0' }] as const,
      'hang up' as const,
    ]
    service.reset(() => (service.asked.length > 2 ? troubles.shift() : undefined))
    const { code, errors } = await runImport(await fileOf('a.csv', csvOf(45)), SLOW)
    expect(code).toBe(0)
    expect(users()).toEqual(usersOf(45))
    expect(service.asked).toHaveLength(9)
    expect(errors).toContain('because of OVERLOADED; trying again')
    expect(errors).toContain('is it running? `npm start`; trying again')
  })

  test('that is interrupted goes on where it was, and counts all of it', async () => {
    const file = await fileOf('a.csv', csvOf(45).replace('u3,visit', 'u3,refuse me'))
    const controller = new AbortController()
    service.reset(() => {
      if (service.asked.length === 3) controller.abort()
      return undefined
    })
    const first = await runImport(file, SLOW, controller.signal)
    expect(first.code).toBe(130)
    expect(first.errors).toContain('interrupted at line 22: the same command goes on from there')
    expect(await refusedLines()).toMatchObject([{ line: 5 }])

    service.reset()
    const second = await runImport(file, SLOW)
    expect(second.code).toBe(3)
    expect(second.errors).toContain('going on at line 22')
    expect(users()).toEqual(usersOf(45, 20))
    expect(second.out).toContain('read 45, accepted 44, refused 1;')
    expect(await refusedLines()).toMatchObject([{ line: 5 }])

    service.reset()
    await runImport(file, SLOW)
    expect(service.events.size).toBe(44)
  })

  test('goes on behind what is known of every line before', async () => {
    const file = await fileOf('a.csv', csvOf(45))
    const controller = new AbortController()
    // The first request is never answered; the others are, and then comes the end.
    service.reset(async (request) => {
      const isFirst = eventsIn(request).some(({ userId }) => userId === 'u0')
      if (service.asked.length === 5) controller.abort()
      if (isFirst) await new Promise(() => {})
      return undefined
    })
    const words = [...MAP, '--batch', '10', '--concurrency', '2']
    const { code, errors } = await runImport(file, words, controller.signal)
    expect(code).toBe(130)
    expect(errors).toContain('interrupted at line 1:')
  })

  test('forgets refused lines that were kept later than how far it was', async () => {
    const file = await fileOf(
      'a.csv',
      `${HEADER}\nbad\n${csvOf(45).split('\n').slice(1).join('\n')}`,
    )
    const controller = new AbortController()
    service.reset(() => {
      if (service.asked.length === 3) controller.abort()
      return undefined
    })
    await runImport(file, SLOW, controller.signal)
    const names = await readdir(join(dataDir, 'imports'))
    const name = names.find((one) => one.endsWith('.rejected.ndjson'))!
    await appendFile(join(dataDir, 'imports', name), '{"line":30}\n{"li')
    service.reset()
    await runImport(file, SLOW)
    expect(await refusedLines()).toMatchObject([{ line: 2, raw: 'bad' }])
  })

  test('ends at a request that is refused, in one line, and goes on there once that is mended', async () => {
    const file = await fileOf('a.csv', csvOf(45))
    service.reset(() => (service.asked.length === 3 ? problem(401, 'UNAUTHENTICATED') : undefined))
    const { code, errors } = await runImport(file, SLOW)
    expect([code, errors]).toEqual([1, 'UNAUTHENTICATED: because of UNAUTHENTICATED\n'])
    service.reset()
    expect((await runImport(file, SLOW)).errors).toContain('going on at line 22')
    expect(users()).toEqual(usersOf(45, 20))
  })

  test('with another mapping is another import', async () => {
    const file = await fileOf('a.csv', csvOf(45))
    service.reset(() => (service.asked.length === 3 ? problem(401, 'UNAUTHENTICATED') : undefined))
    await runImport(file, SLOW)
    service.reset()
    expect((await runImport(file, [...SLOW, '--event', 'x'])).errors).toBe('')
    expect(service.events.size).toBe(45)
  })
})

describe('an import that cannot be', () => {
  test.each([
    ['no mapping', csvOf(1), [], 'which column is the user?'],
    [
      'a column that is not there',
      csvOf(1),
      ['--map', 'user=uid'],
      '--map user=uid: no such column',
    ],
    ['no time', 'user_id,event\n', ['--map', 'user=user_id'], 'which column is the time?'],
    ['no event', 'userId,time\n', [], 'which column is the event?'],
    ['a column twice', 'a,b,a\n', [], 'the header has a twice'],
    ['an empty file', '', [], 'empty'],
    ['a header that is cut off', '"a,b\n', [], 'the header: a quote that is not closed'],
    ['UTF-16', Buffer.from('\ufeffa,b\n', 'utf16le'), [], 'UTF-16'],
    ['gzip that is cut off', gzipSync(csvOf(99)).subarray(0, 60), MAP, 'unexpected end of file'],
  ])('for %s says so before anything is sent', async (_, content, words, message) => {
    const { code, errors } = await runImport(await fileOf('a.csv', content), words)
    expect(errors).toContain(message)
    expect(errors.trimEnd().split('\n')).toHaveLength(1)
    expect(code).toBe(2)
    expect(service.asked).toEqual([])
  })

  test.each([
    ['a file that is not there', ['nowhere.csv'], 'nowhere.csv: no such file'],
    ['too many events a request', ['a.csv', '--batch', '1001'], 'a whole number from 1 to 1000'],
    ['a time zone of no place', ['a.csv', '--time-zone', 'Mars/Olympus'], 'an IANA time zone'],
    ['a delimiter of two signs', ['a.csv', '--delimiter', '::'], 'one ASCII character'],
    ['an unknown target', ['a.csv', '--map', 'visitor=x'], 'give TARGET=FIELD'],
    ['no file', [], "missing required argument 'file'"],
  ])('for %s is wrong usage', async (_, [file, ...words], message) => {
    const target = ['--url', service.url, '--key', 'tf_w_key']
    const all = ['import', ...(file === undefined ? [] : [file]), ...words, ...target]
    const { code, errors } = await runCommand(registerImport, all, { DATA_DIR: dataDir })
    expect(errors).toContain(message)
    expect(code).toBe(2)
  })

  test('for want of a service says how to start it', async () => {
    const words = ['import', 'a.csv', '--key', 'k', '--url', 'http://127.0.0.1:1']
    const { code, errors } = await runCommand(registerImport, words, { DATA_DIR: dataDir })
    expect(code).toBe(1)
    expect(errors).toBe(
      'STORE_UNAVAILABLE: nothing answers at http://127.0.0.1:1: is it running? `npm start`\n',
    )
  })
})
