import { describe, expect, test } from 'vitest'
import { parseExactJson } from '../../../src/event/exact-json.ts'

const BIG = '12345678901234567890'

function again(text: string): string {
  const { value, stringify } = parseExactJson(text)
  return stringify(value)
}

describe('a number', () => {
  test.each([
    ...[BIG, `-${BIG}`, '1e999', '-1e999', '1e-999', '0.1234567890123456789'],
    ...['9007199254740993', '100000000000000000000001', '1.7976931348623159e308'],
  ])('of %s keeps its digits', (number) => {
    for (const text of [number, `[${number}]`, `{"a":${number}}`, `{"a":[1,${number},"x"]}`])
      if (text !== number) expect(again(text)).toBe(text)
  })

  test.each(['9007199254740991', '0.30000000000000004', '1.7976931348623157e+308', '0', '-1.5'])(
    'of %s that a double keeps stays a number',
    (number) => {
      const { value } = parseExactJson(`[${number},${BIG}]`)
      expect((value as unknown[])[0]).toBe(Number(number))
    },
  )

  test('that a double cannot keep is no number to those who ask', () => {
    const { value } = parseExactJson(`{"a":${BIG}}`) as { value: { a: unknown } }
    expect(typeof value.a).toBe('object')
  })

  test('of the whole document is told by what JSON.parse makes of it, or by its digits', () => {
    expect([BIG, String(Number(BIG))]).toContain(again(BIG))
  })
})

describe('a document with a number that is kept', () => {
  test('keeps its strings, whatever they hold', () => {
    const text = `{"a":${BIG},"b":"x${BIG}\\"${BIG}\\\\","c\\"${BIG}":"[${BIG}]"}`
    expect(again(text)).toBe(text)
  })

  test('keeps keys named like parts of an object', () => {
    const text = `{"__proto__":{"a":${BIG}},"constructor":${BIG},"toString":1,"toJSON":${BIG}}`
    const { value } = parseExactJson(text)
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(again(text)).toBe(text)
  })

  test('keeps a number under the key __proto__', () => {
    const text = `{"__proto__":${BIG}}`
    expect(again(text)).toBe(text)
  })

  test('has the order of its keys', () => {
    expect(again(`{"z":1,"a":${BIG},"m":[{"y":${BIG},"b":2}]}`)).toBe(
      `{"z":1,"a":${BIG},"m":[{"y":${BIG},"b":2}]}`,
    )
  })

  test('of 10 MB of escapes does not use up the stack', () => {
    const escapes = '\\"'.repeat(5_000_000)
    expect(again(`["${escapes}",${BIG}]`)).toHaveLength(escapes.length + BIG.length + 5)
  })

  test('of 100,000 levels is parsed', () => {
    const deep = '['.repeat(100_000) + BIG + ']'.repeat(100_000)
    const { value } = parseExactJson(`{"deep":${deep},"big":${BIG}}`)
    expect(Object.keys(value as object)).toEqual(['deep', 'big'])
  })
})

test.each(['', '{', '{"a":01}', `{"a":${BIG}`, `[${BIG},]`, 'NaN', "{'a':1}"])(
  '%j is no JSON',
  (text) => {
    expect(() => parseExactJson(text)).toThrow(SyntaxError)
  },
)
