import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readLines } from '../../../src/cli/import/lines.ts'
import { csvFields } from '../../../src/cli/import/mapping.ts'
import { csvRecords, lineRecords, RECORD_BYTES_MAX } from '../../../src/cli/import/records.ts'

async function* chunksOf(bytes: Buffer, size = bytes.length): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

// Node 20 has no Array.fromAsync.
async function allOf<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const value of values) all.push(value)
  return all
}

async function csv(content: string | Buffer, chunkSize?: number) {
  const bytes = Buffer.from(content)
  const lines = readLines(chunksOf(bytes, chunkSize), RECORD_BYTES_MAX)
  const records = await allOf(csvRecords(lines, ','))
  return records.map(({ line, bytes: record, fault }) => [
    line,
    fault === null ? csvFields(record, ',') : fault.split(':')[0],
  ])
}

async function ndjson(content: string | Buffer) {
  const lines = readLines(chunksOf(Buffer.from(content)), RECORD_BYTES_MAX)
  const records = await allOf(lineRecords(lines))
  return records.map(({ line, bytes, fault }) => [line, fault ?? bytes.toString('utf8')])
}

const MISPLACED = 'a quote where none may be'

describe('the records of a CSV file', () => {
  test('start at their lines, blank ones not counted as records', async () => {
    expect(await csv('a,b\n\n1,2\r\n \r\n3,4')).toEqual([
      [1, ['a', 'b']],
      [3, ['1', '2']],
      [5, ['3', '4']],
    ])
  })

  test('may have newlines, delimiters and quotes within quotes', async () => {
    expect(await csv('"x\r\ny","a,""b"""\r\n"",z\n')).toEqual([
      [1, ['x\r\ny', 'a,"b"']],
      [3, ['', 'z']],
    ])
  })

  test('come without the byte order mark, also before a quote', async () => {
    expect(await csv('\ufeff"a",b\n')).toEqual([[1, ['a', 'b']]])
  })

  test('that are not UTF-8 are told', async () => {
    const bytes = Buffer.concat([
      Buffer.from('a,b\nJos'),
      Buffer.from([0xe9]),
      Buffer.from(',1\nc,d'),
    ])
    expect(await csv(bytes)).toEqual([
      [1, ['a', 'b']],
      [2, 'not UTF-8'],
      [3, ['c', 'd']],
    ])
  })

  test('lose one line to a quote that is not closed', async () => {
    expect(await csv('a,"b\nc,d\n"e",f\n')).toEqual([
      [1, MISPLACED],
      [2, ['c', 'd']],
      [3, ['e', 'f']],
    ])
    expect(await csv('a,b\nc,"d\ne,f\n\ng,h\n')).toEqual([
      [1, ['a', 'b']],
      [2, 'a quote that is not closed'],
      [3, ['e', 'f']],
      [5, ['g', 'h']],
    ])
  })

  test('lose one line to a quote in the middle of a field', async () => {
    expect(await csv('5" pipe,1\n"5"" pipe",2\n"x" y,3\nz,4')).toEqual([
      [1, MISPLACED],
      [2, ['5" pipe', '2']],
      [3, MISPLACED],
      [4, ['z', '4']],
    ])
  })

  test('lose one line to one that is too long, however the file is read', async () => {
    const content = `a,b\n${'x'.repeat(3 * RECORD_BYTES_MAX)}\nc,d\n`
    const expected = [
      [1, ['a', 'b']],
      [2, `longer than ${RECORD_BYTES_MAX} bytes`],
      [3, ['c', 'd']],
    ]
    expect(await csv(content)).toEqual(expected)
    expect(await csv(content, 65_536)).toEqual(expected)
  })

  test('are found again behind a quote that is open for longer than a record may be', async () => {
    const rest = Array.from({ length: 30_000 }, (_, index) => `${'y'.repeat(50)},${index}`)
    const found = await csv(['a,"b', ...rest].join('\n'))
    expect(found).toHaveLength(30_001)
    expect(found[0]).toEqual([1, `longer than ${RECORD_BYTES_MAX} bytes`])
    expect(found[30_000]).toEqual([30_001, ['y'.repeat(50), '29999']])
  })

  test('are those that were written, in whatever chunks they come', async () => {
    const field = fc.string({ unit: fc.constantFrom(...'ab", \n\r', 'ü', '€'), maxLength: 6 })
    const row = fc.array(field, { minLength: 2, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { maxLength: 6 }),
        fc.constantFrom('\n', '\r\n'),
        fc.integer({ min: 1, max: 9 }),
        async (rows, newline, chunkSize) => {
          const quote = (text: string) => `"${text.replaceAll('"', '""')}"`
          const text = rows.map((fields) => fields.map(quote).join(',') + newline).join('')
          expect((await csv(text, chunkSize)).map(([, fields]) => fields)).toEqual(rows)
        },
      ),
    )
  })
})

describe('the records of an NDJSON file', () => {
  test('are its lines that are not blank', async () => {
    expect(await ndjson('\ufeff{"a":"\\n"}\r\n\n{"b":1}')).toEqual([
      [1, '{"a":"\\n"}\r'],
      [3, '{"b":1}'],
    ])
  })

  test('may be at fault one by one', async () => {
    const long = 'x'.repeat(RECORD_BYTES_MAX + 1)
    expect(
      await ndjson(Buffer.concat([Buffer.from([0xff]), Buffer.from(`\n${long}\n{}`)])),
    ).toEqual([
      [1, 'not UTF-8'],
      [2, `longer than ${RECORD_BYTES_MAX} bytes`],
      [3, '{}'],
    ])
  })
})
