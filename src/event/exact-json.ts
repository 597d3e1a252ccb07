import { randomBytes } from 'node:crypto'

// A number after `:`, `,` or `[` whose digits a double may not keep: 16 or more of them, or an exponent.
const SUSPECT = /[:,[]\s*-?(?:\d[\d.]{15}|[\d.]+[eE])/
const TOKEN_START = /["\d-]/g
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y

export interface ExactJson {
  /** The parsed document. In place of a number that a double cannot keep stands an opaque object. */
  readonly value: unknown
  /** Writes a part of the document as JSON, every number with the value that it came with. */
  readonly stringify: (part: unknown) => string
}

/**
 * Parses JSON so that numbers can be written back as they were sent: 12345678901234567890 stays itself
 * instead of becoming 12345678901234567000, and 1e999 does not become null.
 *
 * Throws SyntaxError for what JSON.parse refuses, and whatever `check` throws for the document as JSON.parse
 * returns it: what is refused there costs no second pass.
 */
export function parseExactJson(
  text: string,
  check: (value: unknown) => void = () => {},
): ExactJson {
  const value: unknown = JSON.parse(text)
  check(value)
  if (!SUSPECT.test(text)) return { value, stringify: JSON.stringify }

  // The mark is new for each document, so that no sender can write it.
  const mark = randomBytes(12).toString('hex')
  const marked = markNumbers(text, mark)
  const unmark = new RegExp(`"${mark}([^"]*)"`, 'g')
  return {
    value: withOpaqueNumbers(JSON.parse(marked), mark),
    stringify: (part) => JSON.stringify(part).replace(unmark, '$1'),
  }
}

/** Puts every number of a valid JSON text that a double cannot keep into a string that begins with `mark`. */
function markNumbers(text: string, mark: string): string {
  const parts: string[] = []
  let keptFrom = 0
  TOKEN_START.lastIndex = 0
  for (let token = TOKEN_START.exec(text); token !== null; token = TOKEN_START.exec(text)) {
    if (token[0] === '"') {
      TOKEN_START.lastIndex = stringEnd(text, token.index)
      continue
    }
    NUMBER.lastIndex = token.index
    const literal = NUMBER.exec(text)![0]
    const end = token.index + literal.length
    if (!isKept(literal)) {
      parts.push(text.slice(keptFrom, token.index), `"${mark}${literal}"`)
      keptFrom = end
    }
    TOKEN_START.lastIndex = end
  }
  return parts.join('') + text.slice(keptFrom)
}

// Not by a regular expression: its stack would end in a string of millions of escapes.
function stringEnd(text: string, start: number): number {
  let index = start + 1
  for (; text[index] !== '"'; index++) if (text[index] === '\\') index++
  return index + 1
}

// Not by a reviver, which recurses: a body can be nested deeper than the stack.
function withOpaqueNumbers(document: unknown, mark: string): unknown {
  const holder = { document }
  const open: object[] = [holder]
  for (let parent = open.pop(); parent !== undefined; parent = open.pop())
    for (const key in parent) {
      const value = (parent as Record<string, unknown>)[key]
      if (typeof value === 'object' && value !== null) open.push(value)
      // Defined, not assigned: the key may be `__proto__`.
      else if (typeof value === 'string' && value.startsWith(mark))
        Object.defineProperty(parent, key, { value: numberAsSent(value), enumerable: true })
    }
  return holder.document
}

/** Whether a part of a parsed document stands for a number that a double cannot keep. */
export function isOpaqueNumber(part: object): boolean {
  return Object.getPrototypeOf(part) === null // JSON.parse makes no such object.
}

function numberAsSent(marked: string): object {
  return Object.create(null, { toJSON: { value: () => marked } }) as object
}

// A double keeps 15 significant digits, unless the number is too large or too small for it; and any
// digits that are its own shortest form, such as 9007199254740991 and 0.30000000000000004.
function isKept(literal: string): boolean {
  const digits = literal
    .replace(/[eE].*/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+/, '')
  const number = Number(literal)
  if (String(number) === literal) return true
  return digits.length <= 15 && Number.isFinite(number) && (number !== 0 || digits === '')
}
