import { AppError } from '../../error.ts'
import { readContent, type Content } from './content.ts'
import { readLines } from './lines.ts'
import {
  csvEventMaker,
  csvFields,
  fieldsByTarget,
  jsonEventMaker,
  type EventMakerOptions,
  type Made,
  type Mapping,
} from './mapping.ts'
import { csvRecords, lineRecords, RECORD_BYTES_MAX, type FileRecord } from './records.ts'

export type Format = 'csv' | 'ndjson'

/** The records of a file in order, and how an event is made of one. */
export interface Source {
  readonly records: AsyncIterable<FileRecord>
  readonly make: (record: FileRecord) => Made
}

/** Tells the format of a file by its name, else by how its content begins. */
export function formatOf({ path, head }: Pick<Content, 'path' | 'head'>): Format {
  const name = path.toLowerCase().replace(/\.gz$/, '')
  if (/\.(ndjson|jsonl|json)$/.test(name)) return 'ndjson'
  if (/\.(csv|tsv)$/.test(name)) return 'csv'
  return /^(\ufeff)?\s*\{/.test(head.toString('utf8', 0, 1_000)) ? 'ndjson' : 'csv'
}

/**
 * Opens the records of a file. Throws INVALID_REQUEST for a file that no record can be read of, and for
 * a mapping that a CSV header shows to be wrong.
 */
export async function openSource(
  content: Content,
  options: EventMakerOptions & { readonly format: Format; readonly delimiter: string },
): Promise<Source> {
  const mark = content.head.toString('hex', 0, 2)
  if (mark === 'fffe' || mark === 'feff')
    throw new AppError('INVALID_REQUEST', `${content.path}: UTF-16; save it as UTF-8`)
  const lines = () => readLines(readContent(content), RECORD_BYTES_MAX)
  if (options.format === 'ndjson')
    return { records: lineRecords(lines()), make: jsonEventMaker(options) }

  const { delimiter } = options
  const header = await firstOf(csvRecords(lines(), delimiter))
  if (header === undefined) throw new AppError('INVALID_REQUEST', `${content.path}: empty`)
  if (header.fault !== null)
    throw new AppError('INVALID_REQUEST', `${content.path}: the header: ${header.fault}`)
  const columns = columnsOf(csvFields(header.bytes, delimiter))
  checkMapping(columns, options)
  return {
    records: after(csvRecords(lines(), delimiter), header.line),
    make: csvEventMaker(options, columns, delimiter),
  }
}

async function firstOf<T>(values: AsyncIterable<T>): Promise<T | undefined> {
  for await (const value of values) return value
  return undefined
}

async function* after(
  records: AsyncIterable<FileRecord>,
  line: number,
): AsyncGenerator<FileRecord> {
  for await (const record of records) if (record.line > line) yield record
}

// Spreadsheets and data frames write columns without a name.
function columnsOf(fields: readonly string[]): string[] {
  const columns = fields.map((field, index) => field.trim() || `column_${index + 1}`)
  const twice = columns.find((column, index) => columns.indexOf(column) !== index)
  if (twice !== undefined)
    throw new AppError('INVALID_REQUEST', `the header has ${twice} twice: name them differently`)
  return columns
}

function checkMapping(
  columns: readonly string[],
  { mapping, eventName }: Pick<EventMakerOptions, 'mapping' | 'eventName'>,
): void {
  const has = (column: string) => columns.includes(column)
  const header = `the header has ${columns.join(', ')}`
  const missing = Object.entries(mapping).find(([, column]) => !has(column))
  if (missing !== undefined)
    throw new AppError('INVALID_REQUEST', `--map ${missing.join('=')}: no such column; ${header}`)
  const used: Mapping = fieldsByTarget(mapping, has)
  if (used.user === undefined && used.anonymous === undefined)
    throw new AppError('INVALID_REQUEST', `which column is the user? --map user=…; ${header}`)
  if (used.time === undefined)
    throw new AppError('INVALID_REQUEST', `which column is the time? --map time=…; ${header}`)
  if (used.event === undefined && eventName === undefined)
    throw new AppError(
      'INVALID_REQUEST',
      `which column is the event? --map event=… or --event NAME; ${header}`,
    )
}
