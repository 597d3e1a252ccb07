import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { forEachProperty, propertyAt } from '../../src/event/property.ts'

type Properties = Record<string, unknown>

const LETTERS = ['a', 'b', '.']
const LENGTH_MAX = 6

/** Every text of the letters up to a length: no path of so short keys is left out. */
const EVERY_PATH = Array.from({ length: LENGTH_MAX }).reduce<string[]>(
  (paths) => [...new Set(paths.flatMap((path) => [path, ...LETTERS.map((l) => path + l)]))],
  [''],
)

const shortKey = fc
  .array(fc.constantFrom(...LETTERS), { maxLength: 3 })
  .map((letters) => letters.join(''))
const anyKey = fc.oneof(
  { arbitrary: shortKey, weight: 6 },
  fc.constantFrom('__proto__', 'constructor', 'length', '0', 'a.__proto__', '\0', 'é😀', '\ud800'),
  fc.string(),
  fc.integer({ min: 120, max: 140 }).map((length) => 'x'.repeat(length)),
  fc.integer({ min: 254, max: 258 }).map((length) => 'y'.repeat(length)),
)

/** What JSON.parse can make: keys may be `__proto__`, and numbers infinite. */
function documentOf(key: fc.Arbitrary<string>): fc.Arbitrary<Properties> {
  const leaf = fc.oneof(
    fc.constantFrom(null, 0, -0, Infinity, -Infinity, 1e-300, '', '1', true, false),
    fc.constantFrom([], [1], [{ a: 1 }]),
    fc.string(),
  )
  const { object } = fc.letrec<{ value: unknown; object: Properties }>((tie) => ({
    value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, leaf, tie('object')),
    object: fc
      .array(fc.tuple(key, tie('value')), { maxLength: 5 })
      .map((pairs) => Object.fromEntries(pairs)),
  }))
  return object
}

describe('the properties of an event', () => {
  test('are all that can be found, among every short path', () => {
    fc.assert(
      fc.property(documentOf(shortKey), (properties) => {
        const found = EVERY_PATH.flatMap((path) => {
          const value = propertyAt(properties, path)
          return value === null ? [] : [[path, value] as const]
        })
        const taken = takenOf(properties).filter(([path]) => path.length <= LENGTH_MAX)
        expect(taken).toEqual(inPathOrder(found))
      }),
      { numRuns: 150 },
    )
  })

  test('are all that can be found, whatever the keys', () => {
    fc.assert(
      fc.property(documentOf(anyKey), (properties) => {
        const found = [...new Set(chainsOf(properties))].flatMap((path) => {
          const isAskable = path.length <= 256 && path.isWellFormed()
          const value = isAskable ? propertyAt(properties, path) : null
          return value === null ? [] : [[path, value] as const]
        })
        expect(takenOf(properties)).toEqual(inPathOrder(found))
      }),
      { numRuns: 300 },
    )
  })

  test.each([
    ['none', {}, []],
    ['one of an empty key', { '': 1 }, [['', 1]]],
    ['a key that ends with a dot', { 'a.': 1 }, [['a.', 1]]],
    ['an empty key within', { a: { '': 1 } }, [['a.', 1]]],
    ['what lies under an empty key, which no path leads to', { '': { a: 1 } }, []],
    ['the longest key where paths meet', { 'a.b': 1, a: { b: 2 } }, [['a.b', 1]]],
    ['not what a null hides', { 'a.b': null, a: { b: 2 } }, []],
    ['not what an array hides', { 'a.b': [1], a: { b: 2 } }, []],
    [
      'what stands behind a null further in',
      { 'a.b': { c: null }, a: { 'b.c': 2 } },
      [['a.b.c', 2]],
    ],
    ['the first of two ways', { 'a.b': { c: 1 }, a: { 'b.c': 2 } }, [['a.b.c', 1]]],
    ['not the elements of an array', { a: [{ b: 1 }], b: { c: [1] } }, []],
    ['not what is null', { a: null, b: { c: null } }, []],
    [
      'false, zero and the empty text',
      { a: false, b: { c: 0, d: '' } },
      [
        ['a', false],
        ['b.c', 0],
        ['b.d', ''],
      ],
    ],
  ] as [string, Properties, [string, unknown][]][])('are %s', (_, properties, expected) => {
    expect(takenOf(properties)).toEqual(expected)
  })

  test('may be named __proto__', () => {
    const text = '{"__proto__":{"a":1,"__proto__":2},"b":{"__proto__":{"c":3}}}'
    expect(takenOf(JSON.parse(text) as Properties)).toEqual([
      ['__proto__.__proto__', 2],
      ['__proto__.a', 1],
      ['b.__proto__.c', 3],
    ])
  })

  test('have paths of up to 256 characters', () => {
    const [fits, tooLong] = ['x'.repeat(256), 'y'.repeat(257)]
    expect(takenOf({ [fits]: 1, [tooLong]: 2 })).toEqual([[fits, 1]])
    expect(takenOf({ a: { [fits.slice(2)]: 1, [fits.slice(1)]: 2 } })).toEqual([
      [`a.${fits.slice(2)}`, 1],
    ])
  })

  test('are found as deep as an event may be', () => {
    const nested = Array.from({ length: 31 }).reduce<Properties>((inner) => ({ a: inner }), {
      b: 1,
    })
    expect(takenOf(nested)).toEqual([[`${'a.'.repeat(31)}b`, 1]])
  })
})

/** What is taken, with its values, by path; a path that is taken twice stands twice. */
function takenOf(properties: Properties): [string, unknown][] {
  const taken: [string, unknown][] = []
  forEachProperty(properties, (path, value) => taken.push([path, value]))
  return inPathOrder(taken)
}

function inPathOrder(found: readonly (readonly [string, unknown])[]): [string, unknown][] {
  return found
    .map(([path, value]): [string, unknown] => [path, value])
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
}

/** The keys on every way into a document, joined by dots, wherever the way ends. */
function chainsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => [
    key,
    ...chainsOf(inner).map((rest) => `${key}.${rest}`),
  ])
}
