import type { Made } from './mapping.ts'
import type { FileRecord } from './records.ts'
import type { RefusedLine } from './state.ts'

/** Below the 1 MiB that a request may have, with room for what is around the events. */
const BATCH_BYTES_MAX = 900_000

/** What is sent in one request, and the lines of the same stretch of the file that cannot be. */
export interface Batch {
  /** The records that `events` were made of, in their order. */
  readonly records: readonly FileRecord[]
  /** JSON. */
  readonly events: readonly string[]
  readonly refused: readonly RefusedLine[]
  readonly nextLine: number
}

/** Cuts the records of a file, from a line on, into batches of bounded count and size, in order. */
export async function* batchesOf(
  fileRecords: AsyncIterable<FileRecord>,
  make: (record: FileRecord) => Made,
  { fromLine, countMax }: { readonly fromLine: number; readonly countMax: number },
): AsyncGenerator<Batch> {
  let records: FileRecord[] = []
  let events: string[] = []
  let refused: RefusedLine[] = []
  let [size, nextLine] = [0, fromLine]

  function take(): Batch {
    const batch = { records, events, refused, nextLine }
    records = []
    events = []
    refused = []
    size = 0
    return batch
  }

  for await (const record of fileRecords) {
    if (record.line < fromLine) continue
    const made = withinSize(make(record))
    const madeSize = 'json' in made ? Buffer.byteLength(made.json) + 1 : record.bytes.length
    const count = records.length + refused.length
    if (count === countMax || (count > 0 && size + madeSize > BATCH_BYTES_MAX)) yield take()
    if ('json' in made) {
      records.push(record)
      events.push(made.json)
    } else {
      refused.push(refusedLine(record, made.code, made.reason))
    }
    size += madeSize
    nextLine = record.nextLine
  }
  if (records.length + refused.length > 0) yield take()
}

/** A refused line as it is kept. What is not UTF-8 is kept byte by byte, as Latin-1. */
export function refusedLine(record: FileRecord, code: string, reason: string): RefusedLine {
  const { line, bytes, fault } = record
  return { line, code, reason, raw: bytes.toString(fault === null ? 'utf8' : 'latin1') }
}

function withinSize(made: Made): Made | { readonly code: string; readonly reason: string } {
  if (!('json' in made) || Buffer.byteLength(made.json) <= BATCH_BYTES_MAX) return made
  return { code: 'EVENT_TOO_LARGE', reason: `more than ${BATCH_BYTES_MAX} bytes` }
}
