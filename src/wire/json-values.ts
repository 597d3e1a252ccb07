import { AppError } from '../error.ts'

/** More than 1,000 events of 256 properties have; parsed, a value takes up to 250 bytes. */
export const VALUES_PER_BODY_MAX = 300_000
/** A smaller body cannot hold so many that they matter. */
const SMALL_BYTES = 65_536

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b]

/**
 * Throws BODY_TOO_LARGE for a body of more JSON values than any right one has, before they take memory
 * and time: 10 MB unpacked of `[[[[…` or `0,0,0,…` would take a hundred times that. Counts brackets, braces
 * and commas outside strings; linear, and indifferent to what is no JSON.
 */
export function assertFewValues(body: Buffer): void {
  if (body.length < SMALL_BYTES) return
  let count = 0
  for (let index = 0; index < body.length; index++) {
    const byte = body[index]
    if (byte === QUOTE) index = stringEnd(body, index)
    else if (byte === COMMA || byte === BRACKET || byte === BRACE) count++
    if (count > VALUES_PER_BODY_MAX)
      throw new AppError('BODY_TOO_LARGE', `a body has at most ${VALUES_PER_BODY_MAX} JSON values`)
  }
}

/** Returns the place of the quote that ends the string, or of the last byte. */
function stringEnd(body: Buffer, start: number): number {
  for (let index = start + 1; index < body.length; index++) {
    if (body[index] === BACKSLASH) index++
    else if (body[index] === QUOTE) return index
  }
  return body.length
}
