import { expect, test } from 'vitest'
import {
  conditionFault,
  matchesValue,
  type Condition,
  type Op,
} from '../../../src/analysis/condition.ts'
import type { Value } from '../../../src/segment/columns.ts'

type Operand = Value | readonly Value[] | undefined

const yes: [Value | null, Op, Operand][] = [
  ['/pricing', 'eq', '/pricing'],
  [1, 'eq', '1'],
  ['1', 'eq', 1],
  [true, 'eq', 'true'],
  ['true', 'eq', true],
  [1.5, 'eq', 1.5],
  ['', 'eq', ''],
  ['b', 'eq', ['a', 'b']],
  [2, 'eq', ['1', '2']],
  ['Safari', 'ne', 'safari'],
  ['1.0', 'ne', 1],
  ['c', 'ne', ['a', 'b']],
  [null, 'ne', 'a'],
  [null, 'ne', ['a', 'b']],
  ['b', 'in', ['a', 'b']],
  ['b', 'in', 'b'],
  [false, 'in', ['false']],
  ['c', 'notIn', ['a', 'b']],
  ['c', 'notIn', []],
  [null, 'notIn', ['a', 'b']],
  ['Another Value', 'contains', 'ANOTHER'],
  ['Straße Ä', 'contains', 'ä'],
  [1234, 'contains', 23],
  ['abc', 'contains', ''],
  ['abc', 'notContains', 'x'],
  [null, 'notContains', 'x'],
  ['Hello', 'startsWith', 'hE'],
  [1234, 'startsWith', '12'],
  ['Hello', 'endsWith', 'LO'],
  [true, 'endsWith', 'ue'],
  ['/blog/2026', 'matches', '\\d{4}'],
  ['/blog/2026', 'matches', '^/blog/'],
  [42, 'matches', '^4.$'],
  [10, 'gt', 9],
  ['9', 'gt', 10],
  [9, 'gt', '10'],
  ['b', 'gt', 'a'],
  ['a', 'gt', 'B'],
  [9, 'gte', 9],
  [9, 'gte', '9'],
  [9, 'lt', 10],
  ['10', 'lt', 9],
  [10, 'lt', '9'],
  [-1, 'lt', 0],
  [9, 'lte', 9],
  [false, 'lte', 'true'],
  [5, 'between', [5, 7]],
  [7, 'between', [5, 7]],
  ['10', 'between', [1, 2]],
  ['m', 'between', ['a', 'z']],
  ['', 'isSet', undefined],
  [false, 'isSet', undefined],
  [0, 'isSet', undefined],
  [null, 'isNotSet', undefined],
]

const no: [Value | null, Op, Operand][] = [
  ['Safari', 'eq', 'safari'],
  ['01', 'eq', 1],
  ['c', 'eq', ['a', 'b']],
  ['a', 'eq', []],
  [null, 'eq', 'null'],
  [null, 'eq', ''],
  [1, 'ne', '1'],
  ['b', 'ne', ['a', 'b']],
  ['B', 'in', ['a', 'b']],
  [null, 'in', ['a', '']],
  [1, 'notIn', ['1']],
  ['abc', 'contains', 'cb'],
  [null, 'contains', ''],
  ['ABC', 'notContains', 'bc'],
  ['Hello', 'startsWith', 'lo'],
  [null, 'startsWith', ''],
  ['Hello', 'endsWith', 'he'],
  [null, 'endsWith', ''],
  ['/Blog', 'matches', 'blog'],
  [null, 'matches', '.*'],
  [10, 'gt', 10],
  [10, 'gt', '9'],
  [null, 'gt', ''],
  [8, 'gte', 9],
  [null, 'gte', ''],
  [10, 'lt', 9],
  [null, 'lt', 'z'],
  [10, 'lte', 9],
  [null, 'lte', 'z'],
  [8, 'between', [5, 7]],
  [4, 'between', [5, 7]],
  [6, 'between', [7, 5]],
  [null, 'between', ['', 'z']],
  [null, 'isSet', undefined],
  ['', 'isNotSet', undefined],
]

test.each(yes)('%j satisfies %s %j', (candidate, op, value) => {
  expect(matchesValue({ property: 'p', op, value }, candidate)).toBe(true)
})

test.each(no)('%j does not satisfy %s %j', (candidate, op, value) => {
  expect(matchesValue({ property: 'p', op, value }, candidate)).toBe(false)
})

const faulty: [string, Omit<Condition, 'property'>][] = [
  ['a value that is not there', { op: 'eq' }],
  ['several values where one is taken', { op: 'contains', value: ['a', 'b'] }],
  ['several numbers to be greater than', { op: 'gt', value: [1, 2] }],
  ['one bound for between', { op: 'between', value: 5 }],
  ['three bounds for between', { op: 'between', value: [1, 2, 3] }],
  ['a pattern that is not closed', { op: 'matches', value: '(' }],
  ['a pattern with a back reference', { op: 'matches', value: '(a)\\1' }],
  ['a pattern that repeats too much', { op: 'matches', value: '((a{1000}){1000}){1000}' }],
]

test.each(faulty)('%s is a fault', (_, condition) => {
  expect(conditionFault({ property: 'p', ...condition })).toEqual(expect.any(String))
})

test('a condition that needs no value, or has the right one, is without fault', () => {
  const right: Omit<Condition, 'property'>[] = [
    { op: 'isSet' },
    { op: 'isNotSet', value: 'ignored' },
    { op: 'eq', value: [] },
    { op: 'in', value: 'a' },
    { op: 'between', value: [1, '2'] },
    { op: 'matches', value: '^/blog/(?:\\d+)$' },
  ]
  for (const condition of right) expect(conditionFault({ property: 'p', ...condition })).toBeNull()
})

test('a pattern that would make a backtracking engine hang is answered', () => {
  const condition: Condition = { property: 'p', op: 'matches', value: '^(a+)+$' }
  expect(matchesValue(condition, `${'a'.repeat(20_000)}b`)).toBe(false)
})
