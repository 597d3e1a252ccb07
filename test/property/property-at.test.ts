import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { propertyAt } from '../../src/event/property.ts'

const key = fc.string({ minLength: 1 }).filter((text) => !text.includes('.'))
const scalar = fc.oneof(fc.string(), fc.boolean(), fc.double())

describe('a property', () => {
  test('is found wherever it is nested', () => {
    fc.assert(
      fc.property(fc.array(key, { minLength: 1, maxLength: 6 }), scalar, (path, value) => {
        const properties = path.reduceRight<unknown>(
          (inner, name) => Object.fromEntries([[name, inner]]),
          value,
        )
        expect(propertyAt(properties, path.join('.'))).toBe(value)
      }),
    )
  })

  test('of a key with dots is found, whole or in part', () => {
    expect(propertyAt({ 'a.b': 1 }, 'a.b')).toBe(1)
    expect(propertyAt({ 'a.b': { c: 1 } }, 'a.b.c')).toBe(1)
    expect(propertyAt({ a: { 'b.c': 1 } }, 'a.b.c')).toBe(1)
    expect(propertyAt({ '.a': 1, 'a.': 2, '.': 3 }, '.a')).toBe(1)
    expect(propertyAt({ 'a.': 2 }, 'a.')).toBe(2)
    expect(propertyAt({ '.': 3 }, '.')).toBe(3)
  })

  test('is that of the longest key', () => {
    expect(propertyAt({ 'a.b': 1, a: { b: 2 } }, 'a.b')).toBe(1)
    expect(propertyAt({ 'a.b': { c: 1 }, a: { 'b.c': 2 } }, 'a.b.c')).toBe(1)
    expect(propertyAt({ 'a.b': { c: null }, a: { 'b.c': 2 } }, 'a.b.c')).toBe(2)
  })

  test.each([
    ['null', { a: null }],
    ['an object', { a: { b: 1 } }],
    ['an array', { a: [1] }],
    ['missing', { b: 1 }],
  ])('that is %s holds nothing to ask about', (_, properties) => {
    expect(propertyAt(properties, 'a')).toBeNull()
  })

  test('is not one of those that every object has', () => {
    for (const name of ['constructor', 'toString', '__proto__', 'constructor.name', 'a.length'])
      expect(propertyAt({ a: 'text', b: ['x'] }, name)).toBeNull()
    expect(propertyAt(JSON.parse('{"__proto__":1}'), '__proto__')).toBe(1)
  })

  test('is no element of an array', () => {
    expect(propertyAt({ a: [1, 2] }, 'a.0')).toBeNull()
    expect(propertyAt(['x'], '0')).toBeNull()
  })

  test('of what is no object is nothing', () => {
    for (const nothing of [null, undefined, 'text', 1, true, []])
      expect(propertyAt(nothing, 'length')).toBeNull()
  })
})
