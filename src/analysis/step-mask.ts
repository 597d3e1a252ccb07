import type { CodedColumn, Run, Value } from '../segment/columns.ts'
import { compileCondition, truthTable, type Condition } from './condition.ts'

/** An event satisfies it by its name (null: any) and by all conditions. */
export interface EventMatcher {
  readonly eventName: string | null
  readonly where: readonly Condition[]
}

/** An event satisfies a step if it satisfies any of its matchers. */
export interface Step {
  readonly matchers: readonly EventMatcher[]
}

/** The steps that the events of a run satisfy, bit k for step k. Steps are 1 to 32. */
export interface RunMask {
  /** By their name alone: every row's. */
  readonly plain: number
  /** By their properties as well: a row has the bits that all columns of any of these have for it. */
  readonly lookups: readonly (readonly Lookup[])[]
  /** `plain` and all that the look-ups can give. Where it is 0 no row satisfies any step. */
  readonly possible: number
}

/** A column of a run, and the bits that its rows have by their code. */
interface Lookup {
  readonly codes: CodedColumn['codes']
  readonly bits: Uint32Array
}

type Values = readonly (Value | null)[]

/** What a run without a column of some path has in it. */
const MISSING: Values = [null]

/**
 * Prepares 1 to 32 steps. Conditions are evaluated once per value of a dictionary, also where several
 * steps have the same one and where a dictionary (the same array) comes again in another run.
 */
export function compileSteps(steps: readonly Step[]): (run: Run) => RunMask {
  const truths = new Map<string, Truth>()
  const plans = new Map<string, NamePlan>()
  return (run) => {
    let plan = plans.get(run.eventName)
    if (plan === undefined) plans.set(run.eventName, (plan = planOf(steps, run.eventName, truths)))
    return runMaskOf(plan, run)
  }
}

/**
 * Writes the masks of the rows `from` to `to` - 1 of a run into `target` from `at` on. `codes` is for its
 * own use; it has room for the rows.
 */
export function writeMasks(
  { plain, lookups }: RunMask,
  { from, to }: { readonly from: number; readonly to: number },
  target: Uint32Array,
  at: number,
  codes: Uint32Array,
): void {
  const rowCount = to - from
  target.fill(plain, at, at + rowCount)
  for (const columns of lookups)
    if (columns.length === 1) {
      const { bits } = columns[0]!
      copyCells(columns[0]!.codes, from, to, codes, 0)
      for (let row = 0; row < rowCount; row++) target[at + row]! |= bits[codes[row]!]!
    } else {
      const common = new Uint32Array(rowCount).fill(-1)
      for (const { codes: cells, bits } of columns) {
        copyCells(cells, from, to, codes, 0)
        for (let row = 0; row < rowCount; row++) common[row]! &= bits[codes[row]!]!
      }
      for (let row = 0; row < rowCount; row++) target[at + row]! |= common[row]!
    }
}

/** Copies the rows `from` to `to` - 1 of a column of any width, so that loops see one width only. */
export function copyCells(
  column: Uint8Array | Uint16Array | Uint32Array,
  from: number,
  to: number,
  target: Uint32Array,
  at: number,
): void {
  const isWhole = from === 0 && to === column.length
  target.set(isWhole ? column : column.subarray(from, to), at)
}

/** Whether the values of a dictionary satisfy a condition, by code. */
type Truth = (values: Values) => Uint8Array

/** What the events of one name are to be asked for. */
interface NamePlan {
  readonly plain: number
  readonly lookups: readonly (readonly PropertyBits[])[]
}

/** Conditions on one property, each with the step that it belongs to. */
interface PropertyBits {
  readonly property: string
  readonly parts: { readonly bit: number; readonly truth: Truth }[]
  readonly known: WeakMap<Values, Bits>
}

interface Bits {
  readonly byCode: Uint32Array
  /** The bits that any code has. */
  readonly union: number
}

function planOf(steps: readonly Step[], eventName: string, truths: Map<string, Truth>): NamePlan {
  let plain = 0
  const lookups: PropertyBits[][] = []
  // Matchers of one condition on one property are looked up together.
  const single = new Map<string, PropertyBits>()
  steps.forEach(({ matchers }, stepIndex) => {
    const bit = 1 << stepIndex
    for (const { eventName: asked, where } of matchers) {
      if (asked !== null && asked !== eventName) continue
      const parts = where.map((condition) => ({
        property: condition.property,
        part: { bit, truth: truthOf(condition, truths) },
      }))
      const [first] = parts
      if (first === undefined) plain |= bit
      else if (parts.length > 1)
        lookups.push(parts.map((one) => propertyBits(one.property, one.part)))
      else if (single.has(first.property)) single.get(first.property)!.parts.push(first.part)
      else single.set(first.property, propertyBits(first.property, first.part))
    }
  })
  return { plain, lookups: [...lookups, ...[...single.values()].map((bits) => [bits])] }
}

function propertyBits(property: string, part: PropertyBits['parts'][number]): PropertyBits {
  return { property, parts: [part], known: new WeakMap() }
}

function truthOf(condition: Condition, truths: Map<string, Truth>): Truth {
  const { property, op, value } = condition
  const key = JSON.stringify([property, op, value])
  let truth = truths.get(key)
  if (truth === undefined) {
    const test = compileCondition(condition)
    truth = remembered((values) => truthTable(test, values))
    truths.set(key, truth)
  }
  return truth
}

function remembered<Result>(evaluate: (values: Values) => Result): (values: Values) => Result {
  const known = new WeakMap<Values, Result>()
  return (values) => {
    let result = known.get(values)
    if (result === undefined) known.set(values, (result = evaluate(values)))
    return result
  }
}

function runMaskOf(plan: NamePlan, run: Run): RunMask {
  let { plain } = plan
  let possible = plain
  if (plan.lookups.length === 0) return { plain, lookups: [], possible }
  const lookups: Lookup[][] = []
  for (const conjunction of plan.lookups) {
    let always = -1
    let union = -1
    const columns: Lookup[] = []
    for (const asked of conjunction) {
      const column = run.properties.get(asked.property)
      const bits = bitsOf(asked, column?.values ?? MISSING)
      union &= bits.union
      if (column === undefined) always &= bits.byCode[0]!
      else columns.push({ codes: column.codes, bits: bits.byCode })
    }
    if (union === 0) continue
    possible |= union
    if (columns.length === 0) plain |= always
    else lookups.push(columns)
  }
  return { plain, lookups, possible }
}

function bitsOf({ parts, known }: PropertyBits, values: Values): Bits {
  let bits = known.get(values)
  if (bits !== undefined) return bits
  const byCode = new Uint32Array(values.length)
  for (const { bit, truth } of parts) {
    const table = truth(values)
    for (let code = 0; code < byCode.length; code++) if (table[code] === 1) byCode[code]! |= bit
  }
  bits = { byCode, union: byCode.reduce((union, mask) => union | mask, 0) }
  known.set(values, bits)
  return bits
}
