import assert from 'node:assert'
import { RE2JS, RE2JSException } from 're2js'
import type { Value } from '../segment/columns.ts'

export const OPS = [
  'eq',
  'ne',
  'in',
  'notIn',
  'contains',
  'notContains',
  'startsWith',
  'endsWith',
  'matches',
  'gt',
  'gte',
  'lt',
  'lte',
  'between',
  'isSet',
  'isNotSet',
] as const

export type Op = (typeof OPS)[number]

/**
 * What a property of an event must be (api.md, `where`). `eq`, `ne`, `in` and `notIn` take one value or
 * several, `between` takes [low, high], `isSet` and `isNotSet` take none, and the others take one.
 */
export interface Condition {
  /** A key of the event's properties; nested ones by dotted path. */
  readonly property: string
  readonly op: Op
  readonly value?: Value | readonly Value[] | undefined
}

/** Tells whether a value, or null for a missing one, satisfies a condition. */
export type ValueTest = (value: Value | null) => boolean

/** Returns a value as the text by which it is compared and shown. */
export function textOf(value: Value): string {
  return String(value)
}

/**
 * Orders two values: as numbers where both are, else as text by UTF-16 code units. Negative where `a`
 * comes first, 0 where they are equal.
 */
export function compareValues(a: Value, b: Value): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return compareTexts(textOf(a), textOf(b))
}

/** Orders two texts by UTF-16 code units, the same on every machine. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** The definition of a condition: whether a value (null: the property is missing) satisfies it. */
export function matchesValue(condition: Condition, value: Value | null): boolean {
  return compileCondition(condition)(value)
}

/**
 * Returns the test of a condition, its pattern and its operands prepared. The condition must be without
 * fault (see `conditionFault`).
 */
export function compileCondition(condition: Condition): ValueTest {
  const test = compileTest(condition)
  const isMissingEnough = MISSING_MATCHES.has(condition.op)
  return (value) => (value === null ? isMissingEnough : test(value))
}

/** Returns, by dictionary code, 1 where the value satisfies the test and 0 where it does not. */
export function truthTable(test: ValueTest, values: readonly (Value | null)[]): Uint8Array {
  return Uint8Array.from(values, (value) => (test(value) ? 1 : 0))
}

/** Returns what is wrong with a condition's value, as a phrase for who asked; null where nothing is. */
export function conditionFault({ op, value }: Condition): string | null {
  if (op === 'isSet' || op === 'isNotSet') return null
  if (value === undefined) return `${op} needs a value`
  if (op === 'between')
    return Array.isArray(value) && value.length === 2 ? null : 'between takes [low, high]'
  if (TAKES_SEVERAL.has(op)) return null
  if (typeof value === 'object') return `${op} takes one value`
  return op === 'matches' ? patternFault(textOf(value)) : null
}

const MISSING_MATCHES: ReadonlySet<Op> = new Set(['ne', 'notIn', 'notContains', 'isNotSet'])
const TAKES_SEVERAL: ReadonlySet<Op> = new Set(['eq', 'ne', 'in', 'notIn'])

function patternFault(pattern: string): string | null {
  try {
    RE2JS.compile(pattern)
    return null
  } catch (error) {
    if (error instanceof RE2JSException) return `matches: ${error.message}`
    throw error
  }
}

function compileTest(condition: Condition): (value: Value) => boolean {
  assert.equal(conditionFault(condition), null)
  const operand = condition.value as Value
  switch (condition.op) {
    case 'isSet':
      return () => true
    case 'isNotSet':
      return () => false
    case 'eq':
    case 'in':
      return isOneOf(condition)
    case 'ne':
    case 'notIn':
      return not(isOneOf(condition))
    case 'contains':
      return contains(operand)
    case 'notContains':
      return not(contains(operand))
    case 'startsWith': {
      const part = withoutCase(operand)
      return (value) => withoutCase(value).startsWith(part)
    }
    case 'endsWith': {
      const part = withoutCase(operand)
      return (value) => withoutCase(value).endsWith(part)
    }
    case 'matches': {
      // RE2: linear in the text whatever the pattern, so a question cannot hang a worker.
      const pattern = RE2JS.compile(textOf(operand))
      return (value) => pattern.test(textOf(value))
    }
    case 'gt':
      return (value) => compareValues(value, operand) > 0
    case 'gte':
      return (value) => compareValues(value, operand) >= 0
    case 'lt':
      return (value) => compareValues(value, operand) < 0
    case 'lte':
      return (value) => compareValues(value, operand) <= 0
    case 'between': {
      const [low, high] = condition.value as readonly [Value, Value]
      return (value) => compareValues(value, low) >= 0 && compareValues(value, high) <= 0
    }
  }
}

// Two numbers are equal just where their texts are, so that a set of texts will do.
function isOneOf({ value }: Condition): (value: Value) => boolean {
  const operands = typeof value === 'object' ? value : [value as Value]
  const texts = new Set(operands.map(textOf))
  return (candidate) => texts.has(textOf(candidate))
}

function contains(operand: Value): (value: Value) => boolean {
  const part = withoutCase(operand)
  return (value) => withoutCase(value).includes(part)
}

function not(test: (value: Value) => boolean): (value: Value) => boolean {
  return (value) => !test(value)
}

function withoutCase(value: Value): string {
  return textOf(value).toLowerCase()
}
