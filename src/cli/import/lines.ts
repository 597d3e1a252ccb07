const NEWLINE = 0x0a

/** A line of a file, without its newline; a carriage return before that is kept. */
export interface Line {
  readonly bytes: Buffer
  /** From 1. */
  readonly number: number
  /** Whether it was longer than allowed: `bytes` is its beginning. */
  readonly isCut: boolean
}

/** Yields the lines of a content in order, holding at most `sizeMax` bytes and a chunk. */
export async function* readLines(
  chunks: AsyncIterable<Buffer>,
  sizeMax: number,
): AsyncGenerator<Line> {
  let number = 0
  let size = 0
  let parts: Buffer[] = []

  function add(part: Buffer): void {
    const room = sizeMax - size
    if (room > 0 && part.length > 0) parts.push(part.subarray(0, room))
    size += part.length
  }

  function end(): Line {
    const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    const line = { bytes, number: ++number, isCut: size > sizeMax }
    parts = []
    size = 0
    return line
  }

  for await (const chunk of chunks) {
    let start = 0
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, start)) {
      add(chunk.subarray(start, at))
      yield end()
      start = at + 1
    }
    add(chunk.subarray(start))
  }
  if (size > 0) yield end()
}
