import type { CodedColumn, Columns, Value } from '../segment/columns.ts'
import { compileCondition, truthTable, type Condition, type ValueTest } from './condition.ts'

/** An event satisfies it by its name (null: any) and by all conditions. */
export interface EventMatcher {
  readonly eventName: string | null
  readonly where: readonly Condition[]
}

/** An event satisfies a step if it satisfies any of its matchers. */
export interface Step {
  readonly matchers: readonly EventMatcher[]
}

/** Returns, by row, the steps that the row's event satisfies: bit k for step k. */
export type StepMasks = (columns: Columns) => Uint32Array

/**
 * Prepares 1 to 32 steps. The function returned reads each row by table look-ups only; conditions are
 * evaluated once per value of a column's dictionary. A property without a column is missing in every row.
 */
export function compileSteps(steps: readonly Step[]): StepMasks {
  const tests = new Map<string, ConditionTest>()
  const matchers = steps.flatMap((step, stepIndex) =>
    step.matchers.map((matcher) => compileMatcher(matcher, stepIndex, tests)),
  )
  return (columns) => {
    const { rowCount, event } = columns
    const { plain, conditional } = tablesOf(matchers, columns)
    const masks = new Uint32Array(rowCount)
    const codes = event.codes
    for (let row = 0; row < rowCount; row++) masks[row] = plain[codes[row]!]!
    if (conditional.some((lookups) => lookups !== null)) addConditional(masks, codes, conditional)
    return masks
  }
}

interface CompiledMatcher {
  readonly bit: number
  readonly eventName: string | null
  readonly tests: readonly ConditionTest[]
}

/** The same object for the same condition in several steps, so that its table is made once. */
interface ConditionTest {
  readonly property: string
  readonly test: ValueTest
}

/** A matcher whose conditions are left to be looked up in each row. */
interface Lookup {
  readonly bit: number
  readonly codes: readonly CodedColumn['codes'][]
  readonly tables: readonly Uint8Array[]
}

interface Tables {
  /** By event code: the steps satisfied by the name alone. */
  readonly plain: Int32Array
  /** By event code: what else to look up. */
  readonly conditional: (Lookup[] | null)[]
}

function compileMatcher(
  { eventName, where }: EventMatcher,
  stepIndex: number,
  known: Map<string, ConditionTest>,
): CompiledMatcher {
  const tests = where.map((condition) => {
    const { property, op, value } = condition
    const key = JSON.stringify([property, op, value])
    const test = known.get(key) ?? { property, test: compileCondition(condition) }
    known.set(key, test)
    return test
  })
  return { bit: 1 << stepIndex, eventName, tests }
}

function tablesOf(matchers: readonly CompiledMatcher[], columns: Columns): Tables {
  const names = columns.event.values
  const plain = new Int32Array(names.length)
  const conditional = names.map((): Lookup[] | null => null)
  const tables = new Map<ConditionTest, Uint8Array>()
  for (const matcher of matchers) {
    const eventCodes = codesOf(names, matcher.eventName)
    if (eventCodes.length === 0) continue
    const lookup = lookupOf(matcher, columns, tables)
    if (lookup === null) continue
    for (const code of eventCodes)
      if (lookup.tables.length === 0) plain[code]! |= matcher.bit
      else (conditional[code] ??= []).push(lookup)
  }
  return { plain, conditional }
}

function codesOf(names: readonly (Value | null)[], eventName: string | null): number[] {
  if (eventName === null) return [...names.keys()]
  const code = names.indexOf(eventName)
  return code === -1 ? [] : [code]
}

/** Returns what a matcher has to look up in these columns; null where no row can satisfy it. */
function lookupOf(
  { bit, tests }: CompiledMatcher,
  columns: Columns,
  known: Map<ConditionTest, Uint8Array>,
): Lookup | null {
  const codes: CodedColumn['codes'][] = []
  const tables: Uint8Array[] = []
  for (const conditionTest of tests) {
    const { property, test } = conditionTest
    const column = columns.properties.get(property)
    if (column === undefined) {
      if (!test(null)) return null
      continue
    }
    const table = known.get(conditionTest) ?? truthTable(test, column.values)
    known.set(conditionTest, table)
    codes.push(column.codes)
    tables.push(table)
  }
  return { bit, codes, tables }
}

function addConditional(
  masks: Uint32Array,
  eventCodes: CodedColumn['codes'],
  conditional: readonly (readonly Lookup[] | null)[],
): void {
  for (let row = 0; row < masks.length; row++) {
    const lookups = conditional[eventCodes[row]!]!
    if (lookups === null) continue
    for (const lookup of lookups) if (holds(lookup, row)) masks[row]! |= lookup.bit
  }
}

function holds({ codes, tables }: Lookup, row: number): boolean {
  for (let index = 0; index < tables.length; index++)
    if (tables[index]![codes[index]![row]!] === 0) return false
  return true
}
