import { AppError } from '../error.ts'

export interface ReadText {
  readonly value: string
  readonly isQuoted: boolean
}

export type TextReader = ReturnType<typeof openTextReader>

/** Reads what was typed, piece by piece. Spaces between pieces mean nothing. */
export function openTextReader(text: string) {
  let at = 0

  /** Throws INVALID_QUERY with the place. */
  function fail(expected: string): never {
    const message = `at character ${at + 1}: expected ${expected}, found ${text[at] ?? 'the end'}`
    throw new AppError('INVALID_QUERY', message)
  }

  function take(sign: string): boolean {
    while (text[at] === ' ') at++
    if (!text.startsWith(sign, at)) return false
    at += sign.length
    return true
  }

  /** Reads a text in double quotes, or up to where `end`, a sticky pattern, matches. */
  function readText(expected: string, end: RegExp): ReadText {
    if (take('"')) return { value: readQuoted(), isQuoted: true }
    const start = at
    for (; at < text.length; at++) {
      end.lastIndex = at
      if (end.test(text)) break
    }
    const value = text.slice(start, at).trim()
    if (value === '') fail(expected)
    return { value, isQuoted: false }
  }

  function readQuoted(): string {
    let value = ''
    for (; at < text.length && text[at] !== '"'; at++) {
      if (text[at] === '\\') at++
      value += text[at] ?? ''
    }
    if (!take('"')) fail('a closing "')
    return value
  }

  return {
    ...{ fail, take, readText },

    /** Reads on, and goes back to where it was if `read` returns null. */
    attempt<T>(read: () => T | null): T | null {
      const start = at
      const found = read()
      if (found === null) at = start
      return found
    },

    /** Reads all of it: whatever is left after `read` is a fault. */
    readAll<T>(read: () => T, expected: string): T {
      const found = read()
      if (!take('') || at < text.length) fail(expected)
      return found
    },
  }
}
