import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  compileCondition,
  conditionFault,
  matchesValue,
  OPS,
  truthTable,
  type Condition,
  type Op,
} from '../../src/analysis/condition.ts'
import type { Value } from '../../src/segment/columns.ts'

const aValue: fc.Arbitrary<Value> = fc.oneof(
  fc.constantFrom('a', 'A', 'ab', 'Ab', '', '1', '9', '10', 'true'),
  fc.integer({ min: -2, max: 11 }),
  fc.boolean(),
  fc.string({ maxLength: 3 }),
)
const aDictionary = fc.array(aValue).map((values) => [null, ...values])

const aCondition: fc.Arbitrary<Condition> = fc
  .record({
    property: fc.constant('p'),
    op: fc.constantFrom(...OPS),
    value: fc.oneof(aValue, fc.array(aValue, { maxLength: 3 })),
  })
  .filter((condition) => conditionFault(condition) === null)

test('a truth table holds what each value of the dictionary is by definition', () => {
  fc.assert(
    fc.property(aCondition, aDictionary, (condition, values) => {
      const table = truthTable(compileCondition(condition), values)
      expect([...table]).toEqual(values.map((value) => Number(matchesValue(condition, value))))
    }),
    { numRuns: 1_000 },
  )
})

test('of an op and its opposite, just one holds, missing or not', () => {
  const opposites: [Op, Op][] = [
    ['eq', 'ne'],
    ['in', 'notIn'],
    ['contains', 'notContains'],
    ['isSet', 'isNotSet'],
  ]
  fc.assert(
    fc.property(
      fc.constantFrom(...opposites),
      aValue,
      fc.option(aValue),
      ([op, opposite], value, candidate) => {
        const holds = matchesValue({ property: 'p', op, value }, candidate)
        const isOpposed = matchesValue({ property: 'p', op: opposite, value }, candidate)
        expect(holds).toBe(!isOpposed)
      },
    ),
  )
})

test('a value is below, equal to or above another, and between is both ends included', () => {
  fc.assert(
    fc.property(aValue, aValue, aValue, (value, low, high) => {
      const is = (op: Op, operand: Value | Value[]) =>
        matchesValue({ property: 'p', op, value: operand }, value)
      expect([is('lt', low), is('eq', low), is('gt', low)].filter(Boolean)).toHaveLength(1)
      expect(is('between', [low, high])).toBe(is('gte', low) && is('lte', high))
      expect(is('gte', low)).toBe(!is('lt', low))
      expect(is('lte', low)).toBe(!is('gt', low))
    }),
  )
})
