import { openTextReader, type ReadText, type TextReader } from './text-reader.ts'

/** A step as api.md has it. */
export interface ParsedStep {
  readonly label?: string
  readonly anyEvent?: true
  readonly event?: string
  readonly anyOf?: readonly ParsedMatcher[]
  readonly where?: readonly ParsedCondition[]
  readonly optional?: true
  readonly firstTime?: true | 'matching'
}

interface ParsedMatcher {
  readonly event: string
  readonly where?: readonly ParsedCondition[]
}

export interface ParsedCondition {
  readonly property: string
  readonly op: string
  readonly value?: Value | readonly Value[]
}

type Value = string | number | boolean

/** What voids an entry, as api.md has it; steps from 1. */
export interface ParsedExclusion extends ParsedMatcher {
  readonly afterStep?: number
  readonly beforeStep?: number
}

/** Longer signs first where one begins with another. */
const OPERATORS = [
  ['!=', 'ne'],
  ['>=', 'gte'],
  ['<=', 'lte'],
  ['!~', 'notContains'],
  ['^=', 'startsWith'],
  ['$=', 'endsWith'],
  ['=~', 'matches'],
  ['=', 'eq'],
  ['>', 'gt'],
  ['<', 'lt'],
  ['~', 'contains'],
] as const
const SIGNS = '= != > >= < <= ~ !~ ^= $= or =~'

// Where a text without quotes ends. A label ends at a quote too: in `first:"a = b"` there is none.
const LABEL_END = /[>|[\],?="]/y
const NAME_END = /[>|[\],?=]/y
const EXCLUDED_NAME_END = /[>|[\],?=@]/y
const PROPERTY_END = /[=!<>~,\]]|[\^$]=/y
const VALUE_END = /[,\]]/y
const LISTED_VALUE_END = /[,\]|]/y
const LISTED_NAME_END = /,/y
const NUMBER_END = /[^0-9]/y

/**
 * Parses a funnel as it is typed: steps joined by `>`, alternatives of a step by `|`, conditions in
 * brackets, `*` for any event, `?` after a step that may be left out:
 * `page_view[path=/pricing, price>=10] > coupon? > add_to_cart|quick_buy > *`. Names and values that hold
 * any of these signs stand in double quotes. Throws INVALID_QUERY with the place.
 *
 *     funnel      = step { ">" step }
 *     step        = [ label "=" ] [ mark ] alternative { "|" alternative } [ "?" ]
 *     mark        = "first:" | "first-matching:"
 *     alternative = ( "*" | text ) [ "[" condition { "," condition } "]" ]
 *     condition   = text ( "=" | "!=" ) ( "*" | number ".." number | value { "|" value } )
 *                 | text ( ">" | ">=" | "<" | "<=" | "~" | "!~" | "^=" | "$=" | "=~" ) value
 *
 * `first:` is the user's first ever event of the name, `first-matching:` the first that meets the
 * conditions. `=*` is any value, `!=*` none; `10..20` lies between, ends included; `~` contains, `^=`
 * begins, `$=` ends, `=~` matches a pattern.
 */
export function parseFunnel(text: string): ParsedStep[] {
  const reader = openTextReader(text)
  return reader.readAll(() => {
    const steps = [readStep(reader)]
    while (reader.take('>')) steps.push(readStep(reader))
    return steps
  }, '> or |')
}

/** Parses conditions as they stand in the brackets of a step. Throws INVALID_QUERY with the place. */
export function parseWhere(text: string): ParsedCondition[] {
  const reader = openTextReader(text)
  return reader.readAll(() => readConditions(reader), 'a comma')
}

/**
 * Parses an event that voids an entry, and between which steps: `logout[reason=x]@1-2`. Of `@1` the other
 * is the next step; without it, they are the first and the second. Throws INVALID_QUERY with the place.
 */
export function parseExclusion(text: string): ParsedExclusion {
  const reader = openTextReader(text)
  return reader.readAll(() => {
    const event = reader.readText('an event name', EXCLUDED_NAME_END).value
    const matcher = { event, ...readBrackets(reader) }
    if (!reader.take('@')) return matcher
    const afterStep = readStepNumber(reader)
    if (!reader.take('-')) return { ...matcher, afterStep }
    return { ...matcher, afterStep, beforeStep: readStepNumber(reader) }
  }, '@ and the steps, such as @1-2')
}

/** Parses names joined by commas. Throws INVALID_QUERY with the place. */
export function parseNames(text: string): string[] {
  const reader = openTextReader(text)
  return reader.readAll(() => {
    const readName = () => reader.readText('a name', LISTED_NAME_END).value
    const names = [readName()]
    while (reader.take(',')) names.push(readName())
    return names
  }, 'a comma')
}

function readStep(reader: TextReader): ParsedStep {
  const label = reader.attempt(() => {
    const { value } = reader.readText('an event name', LABEL_END)
    return reader.take('=') ? { label: value } : null
  })
  const mark = readMark(reader)
  const matched = readAlternatives(reader)
  return { ...label, ...mark, ...matched, ...(reader.take('?') && { optional: true }) }
}

function readMark(reader: TextReader): Pick<ParsedStep, 'firstTime'> {
  if (reader.take('first-matching:')) return { firstTime: 'matching' }
  return reader.take('first:') ? { firstTime: true } : {}
}

function readAlternatives(reader: TextReader): ParsedStep {
  const first = readAlternative(reader)
  const others: ParsedMatcher[] = []
  while (reader.take('|')) {
    const { event, ...rest } = readAlternative(reader)
    if (event === undefined || first.event === undefined)
      return reader.fail('an event name, not *, beside |')
    others.push({ event, ...rest })
  }
  if (others.length === 0) return first
  const { event, ...rest } = first
  return { anyOf: [{ event: event!, ...rest }, ...others] }
}

function readAlternative(reader: TextReader): ParsedStep {
  const name = reader.take('*')
    ? { anyEvent: true as const }
    : { event: reader.readText('an event name', NAME_END).value }
  return { ...name, ...readBrackets(reader) }
}

function readBrackets(reader: TextReader): { where?: readonly ParsedCondition[] } {
  if (!reader.take('[')) return {}
  const where = readConditions(reader)
  if (!reader.take(']')) reader.fail('] or ,')
  return { where }
}

function readConditions(reader: TextReader): ParsedCondition[] {
  const conditions = [readCondition(reader)]
  while (reader.take(',')) conditions.push(readCondition(reader))
  return conditions
}

function readCondition(reader: TextReader): ParsedCondition {
  const property = reader.readText('a property', PROPERTY_END).value
  const operator = OPERATORS.find(([sign]) => reader.take(sign))
  if (operator === undefined) return reader.fail(SIGNS)
  const [, op] = operator
  if (op === 'eq' || op === 'ne') return { property, ...readEquals(reader, op) }
  return { property, op, value: valueOf(reader.readText('a value', VALUE_END)) }
}

function readEquals(reader: TextReader, op: 'eq' | 'ne'): Omit<ParsedCondition, 'property'> {
  const readValue = () => reader.readText('a value', LISTED_VALUE_END)
  const texts = [readValue()]
  while (reader.take('|')) texts.push(readValue())
  const [first, ...others] = texts as [ReadText, ...ReadText[]]
  if (others.length > 0) return { op: op === 'eq' ? 'in' : 'notIn', value: texts.map(valueOf) }
  const { value, isQuoted } = first
  if (value === '*' && !isQuoted) return { op: op === 'eq' ? 'isSet' : 'isNotSet' }
  const bounds = isQuoted || op === 'ne' ? [] : value.split('..').map(plainValue)
  if (bounds.length === 2 && bounds.every((bound) => typeof bound === 'number'))
    return { op: 'between', value: bounds }
  return { op, value: valueOf(first) }
}

function readStepNumber(reader: TextReader): number {
  const { value, isQuoted } = reader.readText('the number of a step', NUMBER_END)
  if (isQuoted) reader.fail('the number of a step')
  return Number(value)
}

function valueOf({ value, isQuoted }: ReadText): Value {
  return isQuoted ? value : plainValue(value)
}

/** A number only where no digit is lost by it. */
function plainValue(text: string): Value {
  if (text === 'true' || text === 'false') return text === 'true'
  const number = Number(text)
  return Number.isFinite(number) && String(number) === text ? number : text
}
