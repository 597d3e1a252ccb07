import { isUtf8 } from 'node:buffer'
import type { Line } from './lines.ts'

/** More than a service takes of one event. */
export const RECORD_BYTES_MAX = 1_048_576

const QUOTE = 0x22
const CARRIAGE_RETURN = 0x0d
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** The text of one event in a file, or a line of which none can be made. */
export interface FileRecord {
  /** Where it starts. */
  readonly line: number
  /** The line after its last. */
  readonly nextLine: number
  readonly bytes: Buffer
  /** Why it cannot be read; null where it can, and then it is UTF-8. */
  readonly fault: string | null
}

/** Yields the records of a file of one record a line, in order; blank lines are none. */
export async function* lineRecords(lines: AsyncIterable<Line>): AsyncGenerator<FileRecord> {
  for await (const line of lines) {
    const whole = withoutMark(line)
    if (line.isCut) yield faulty(whole, TOO_LONG)
    else if (!isBlank(whole.bytes)) yield recordOf([whole])
  }
}

/**
 * Yields the records of a CSV file (RFC 4180), in order; blank lines are none. Quotes are looked at only
 * to find where a record ends. Where they go wrong, the first line of the record is at fault and reading
 * goes on with the next line, so that one forgotten quote costs one line and not the rest of the file.
 */
export async function* csvRecords(
  lines: AsyncIterable<Line>,
  delimiter: string,
): AsyncGenerator<FileRecord> {
  const assembler = openAssembler(delimiter.charCodeAt(0))
  for await (const line of lines) yield* assembler.add(withoutMark(line))
  yield* assembler.finish()
}

const TOO_LONG = `longer than ${RECORD_BYTES_MAX} bytes`
const NOT_CLOSED = 'a quote that is not closed'
const MISPLACED = 'a quote where none may be: quote the whole field and double the quotes in it'

function openAssembler(delimiter: number) {
  let open: Line[] = []
  let size = 0

  // Returns null where more lines are needed.
  function step(line: Line): FileRecord | string | null {
    if (open.length === 0 && !line.isCut && isBlank(line.bytes)) return null
    const state = scan(line.bytes, delimiter, open.length > 0)
    open.push(line)
    size += line.bytes.length + 1
    if (line.isCut || size > RECORD_BYTES_MAX) return TOO_LONG
    if (state === 'broken') return MISPLACED
    if (state === 'open') return null
    const record = recordOf(open)
    reset()
    return record
  }

  function reset(): Line[] {
    const [, ...rest] = open
    open = []
    size = 0
    return rest
  }

  function* add(line: Line): Generator<FileRecord> {
    let waiting = [line] // the next one last
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const outcome = step(next)
      if (outcome === null) continue
      if (typeof outcome !== 'string') {
        yield outcome
        continue
      }
      yield faulty(open[0]!, outcome)
      waiting = [...waiting, ...reset().reverse()]
    }
  }

  return {
    add,
    *finish(): Generator<FileRecord> {
      while (open.length > 0) {
        yield faulty(open[0]!, NOT_CLOSED)
        for (const line of reset()) yield* add(line)
      }
    },
  }
}

/** Reads the quotes of a line that starts inside of a quoted field, or outside. */
function scan(line: Buffer, delimiter: number, isInside: boolean): 'whole' | 'open' | 'broken' {
  if (!line.includes(QUOTE)) return isInside ? 'open' : 'whole'
  let isQuoted = isInside
  let isFieldStart = !isInside
  for (let index = 0; index < line.length; index++) {
    const byte = line[index]
    if (byte === QUOTE && isQuoted) {
      const next = line[index + 1]
      if (next === QUOTE) {
        index++
        continue
      }
      const isEnd = next === undefined || (next === CARRIAGE_RETURN && index + 2 === line.length)
      if (!isEnd && next !== delimiter) return 'broken'
      isQuoted = false
    } else if (byte === QUOTE) {
      if (!isFieldStart) return 'broken'
      isQuoted = true
    }
    isFieldStart = !isQuoted && byte === delimiter
  }
  return isQuoted ? 'open' : 'whole'
}

function recordOf(lines: readonly Line[]): FileRecord {
  const [first] = lines
  const line = first!.number
  const bytes =
    lines.length === 1
      ? first!.bytes
      : Buffer.from(lines.map((part) => part.bytes.toString('latin1')).join('\n'), 'latin1')
  const fault = isUtf8(bytes) ? null : 'not UTF-8'
  return { line, nextLine: line + lines.length, bytes, fault }
}

function faulty({ number, bytes }: Line, fault: string): FileRecord {
  return { line: number, nextLine: number + 1, bytes, fault }
}

function withoutMark(line: Line): Line {
  const isMarked = line.number === 1 && line.bytes.subarray(0, 3).equals(BYTE_ORDER_MARK)
  return isMarked ? { ...line, bytes: line.bytes.subarray(3) } : line
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === CARRIAGE_RETURN)
}
