import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseExactJson } from '../../src/event/exact-json.ts'

/** JSON texts with a number in them that no double keeps, beside whatever else there can be. */
const bigNumber = fc
  .tuple(fc.bigInt({ min: 10n ** 17n, max: 10n ** 40n }), fc.boolean())
  .map(([digits, isNegative]) => `${isNegative ? '-' : ''}${digits}`)
  .filter((text) => text !== String(Number(text)) && BigInt(text) !== BigInt(Number(text)))

test('an ordinary document is what JSON makes of it', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const { value, stringify } = parseExactJson(text)
      expect(JSON.parse(stringify(value))).toEqual(JSON.parse(text))
    }),
  )
})

test('a document that was written by JSON comes back as it was, beside any number', () => {
  fc.assert(
    fc.property(fc.jsonValue(), bigNumber, (document, number) => {
      const text = `{"before":${number},"document":${JSON.stringify(document)},"after":[${number}]}`
      const { value, stringify } = parseExactJson(text)
      expect(stringify(value)).toBe(text)
    }),
  )
})

test('a part of a document is written with its own numbers', () => {
  fc.assert(
    fc.property(fc.array(bigNumber, { minLength: 1 }), (numbers) => {
      const { value, stringify } = parseExactJson(
        `[${numbers.map((one) => `{"n":${one}}`).join()}]`,
      )
      const parts = (value as unknown[]).map(stringify)
      expect(parts).toEqual(numbers.map((one) => `{"n":${one}}`))
    }),
  )
})

test('white space costs no digit', () => {
  fc.assert(
    fc.property(bigNumber, fc.stringMatching(/^[ \t\n\r]{0,9}$/), (number, space) => {
      const { value, stringify } = parseExactJson(`{"a"${space}:${space}${number}${space}}`)
      expect(stringify(value)).toBe(`{"a":${number}}`)
    }),
  )
})
