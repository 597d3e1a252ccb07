import { AppError } from '../error.ts'

/** A step as api.md has it. */
export interface ParsedStep {
  readonly anyEvent?: true
  readonly event?: string
  readonly anyOf?: readonly ParsedMatcher[]
  readonly where?: readonly ParsedCondition[]
}

interface ParsedMatcher {
  readonly event: string
  readonly where?: readonly ParsedCondition[]
}

export interface ParsedCondition {
  readonly property: string
  readonly op: string
  readonly value: string | number | boolean
}

const OPERATORS = [
  ['!=', 'ne'],
  ['>=', 'gte'],
  ['<=', 'lte'],
  ['!~', 'notContains'],
  ['=', 'eq'],
  ['>', 'gt'],
  ['<', 'lt'],
  ['~', 'contains'],
] as const

/**
 * Parses a funnel as it is typed: steps joined by `>`, alternatives of a step by `|`, conditions in
 * brackets, `*` for any event: `page_view[path=/pricing, price>=10] > add_to_cart|quick_buy > *`. Names
 * and values that hold any of these signs stand in double quotes. Throws INVALID_QUERY with the place.
 *
 *     funnel      = step { ">" step }
 *     step        = alternative { "|" alternative }
 *     alternative = ( "*" | text ) [ "[" condition { "," condition } "]" ]
 *     condition   = text ( "=" | "!=" | ">" | ">=" | "<" | "<=" | "~" | "!~" ) text
 */
export function parseFunnel(text: string): ParsedStep[] {
  return openParser(text).parseFunnel()
}

/** Parses conditions as they stand in the brackets of a step. Throws INVALID_QUERY with the place. */
export function parseWhere(text: string): ParsedCondition[] {
  return openParser(text).parseWhere()
}

function openParser(text: string) {
  let at = 0

  function fail(expected: string): never {
    const message = `at character ${at + 1}: expected ${expected}, found ${text[at] ?? 'the end'}`
    throw new AppError('INVALID_QUERY', message)
  }

  function skipSpace(): void {
    while (text[at] === ' ') at++
  }

  function take(sign: string): boolean {
    skipSpace()
    if (!text.startsWith(sign, at)) return false
    at += sign.length
    return true
  }

  function parseText(expected: string, end: RegExp): { value: string; isQuoted: boolean } {
    if (take('"')) return { value: parseQuoted(), isQuoted: true }
    const start = at
    while (at < text.length && !end.test(text[at]!)) at++
    const value = text.slice(start, at).trim()
    if (value === '') fail(expected)
    return { value, isQuoted: false }
  }

  function parseQuoted(): string {
    let value = ''
    for (; at < text.length && text[at] !== '"'; at++) {
      if (text[at] === '\\') at++
      value += text[at] ?? ''
    }
    if (!take('"')) fail('a closing "')
    return value
  }

  function parseCondition(): ParsedCondition {
    const property = parseText('a property', /[=!<>~,\]]/).value
    const operator = OPERATORS.find(([sign]) => take(sign))
    if (operator === undefined) fail('= != > >= < <= ~ or !~')
    const { value, isQuoted } = parseText('a value', /[,\]]/)
    return { property, op: operator[1], value: isQuoted ? value : valueOf(value) }
  }

  function parseConditions(): ParsedCondition[] {
    const conditions = [parseCondition()]
    while (take(',')) conditions.push(parseCondition())
    return conditions
  }

  function parseBrackets(): ParsedCondition[] {
    if (!take('[')) return []
    const conditions = parseConditions()
    if (!take(']')) fail('] or ,')
    return conditions
  }

  function parseAlternative(): ParsedStep {
    const isAny = take('*')
    const event = isAny ? '' : parseText('an event name', /[>|[\],]/).value
    const conditions = parseBrackets()
    const where = conditions.length === 0 ? {} : { where: conditions }
    return isAny ? { anyEvent: true, ...where } : { event, ...where }
  }

  function parseStep(): ParsedStep {
    const first = parseAlternative()
    const anyOf: ParsedMatcher[] = []
    while (take('|')) {
      const { event, ...rest } = parseAlternative()
      if (event === undefined || first.event === undefined) fail('an event name, not *, beside |')
      anyOf.push({ event, ...rest })
    }
    if (anyOf.length === 0) return first
    const { event, ...rest } = first
    return { anyOf: [{ event: event!, ...rest }, ...anyOf] }
  }

  function endOf<T>(parsed: T, expected: string): T {
    skipSpace()
    if (at < text.length) fail(expected)
    return parsed
  }

  return {
    parseFunnel(): ParsedStep[] {
      const steps = [parseStep()]
      while (take('>')) steps.push(parseStep())
      return endOf(steps, '> or |')
    },
    parseWhere: () => endOf(parseConditions(), 'a comma'),
  }
}

function valueOf(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  const number = Number(text)
  return Number.isFinite(number) && String(number) === text ? number : text
}
