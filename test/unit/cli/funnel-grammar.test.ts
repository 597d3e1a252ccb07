import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseFunnel, type ParsedStep } from '../../../src/cli/funnel-grammar.ts'
import { AppError } from '../../../src/error.ts'

const SIGNS: Record<string, string> = {
  ...{ eq: '=', ne: '!=', gt: '>', gte: '>=', lt: '<', lte: '<=' },
  ...{ contains: '~', notContains: '!~' },
}

function messageOf(text: string): string {
  try {
    parseFunnel(text)
  } catch (error) {
    if (error instanceof AppError && error.code === 'INVALID_QUERY') return error.message
    throw error
  }
  return 'no error'
}

describe('a funnel as it is typed', () => {
  test('has steps, alternatives, conditions and any event', () => {
    const text = 'page_view[path=/pricing, price>=10] > add_to_cart|quick_buy > *'
    const where = [
      { property: 'path', op: 'eq', value: '/pricing' },
      { property: 'price', op: 'gte', value: 10 },
    ]
    expect(parseFunnel(text)).toEqual([
      { event: 'page_view', where },
      { anyOf: [{ event: 'add_to_cart' }, { event: 'quick_buy' }] },
      { anyEvent: true },
    ])
  })

  test('may have conditions for each alternative, and for any event', () => {
    expect(parseFunnel('a[x=1]|b>*[y!=true]')).toEqual([
      { anyOf: [{ event: 'a', where: [{ property: 'x', op: 'eq', value: 1 }] }, { event: 'b' }] },
      { anyEvent: true, where: [{ property: 'y', op: 'ne', value: true }] },
    ])
  })

  test('has names of several words, and signs in quotes', () => {
    expect(parseFunnel('Sign Up > "a > b"["x|y" ~ "say \\"hi\\""]')).toEqual([
      { event: 'Sign Up' },
      { event: 'a > b', where: [{ property: 'x|y', op: 'contains', value: 'say "hi"' }] },
    ])
  })

  test('takes a value for a number only where no digit is lost, and never in quotes', () => {
    const valueOf = (text: string) => parseFunnel(`a[x=${text}]`)[0]?.where?.[0]?.value
    expect(['9.5', '-3', 'true'].map(valueOf)).toEqual([9.5, -3, true])
    const texts = ['007', '1e3', '9007199254740993', 'NaN', 'Infinity', '-Infinity']
    expect(texts.map(valueOf)).toEqual(texts)
    expect(valueOf('"9.5"')).toBe('9.5')
  })

  test.each([
    ['', 'at character 1: expected an event name, found the end'],
    ['a >', 'at character 4: expected an event name, found the end'],
    ['a > > b', 'at character 5: expected an event name, found >'],
    ['a[x=1', 'at character 6: expected ] or ,, found the end'],
    ['a[x]', 'at character 4: expected = != > >= < <= ~ or !~, found ]'],
    ['a[x=]', 'at character 5: expected a value, found ]'],
    ['a["x', 'at character 5: expected a closing ", found the end'],
    ['a|*', 'at character 4: expected an event name, not *, beside |, found the end'],
    ['"a" b', 'at character 5: expected > or |, found b'],
    ['a]', 'at character 2: expected > or |, found ]'],
  ])('%j is refused with the place', (text, message) => {
    expect(messageOf(text)).toBe(message)
  })

  test('means the same after it is written out', () => {
    const name = fc.string({ minLength: 1, maxLength: 12, unit: 'binary' })
    const value = fc.oneof(
      name,
      fc.boolean(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    )
    const op = fc.constantFrom(...Object.keys(SIGNS))
    const where = fc.array(fc.record({ property: name, op, value }), { minLength: 1, maxLength: 3 })
    const matcher = fc.oneof(fc.record({ event: name }), fc.record({ event: name, where }))
    const step: fc.Arbitrary<ParsedStep> = fc.oneof(
      matcher,
      fc.record({ anyOf: fc.array(matcher, { minLength: 2, maxLength: 3 }) }),
      fc.constant({ anyEvent: true as const }),
      where.map((conditions) => ({ anyEvent: true as const, where: conditions })),
    )
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), (steps) => {
        expect(parseFunnel(steps.map(written).join('>'))).toEqual(steps)
      }),
    )
  })

  test('is parsed or refused, whatever it is', () => {
    const sign = fc.constantFrom(...'ab>|[]=!~<,"\\* ')
    fc.assert(
      fc.property(fc.string({ unit: sign, maxLength: 20 }), (text) => {
        expect(messageOf(text)).toMatch(/^(no error$|at character \d+: expected )/)
      }),
    )
  })
})

function written(step: ParsedStep): string {
  if (step.anyOf !== undefined) return step.anyOf.map(written).join(' | ')
  const name = step.anyEvent === true ? '*' : quoted(step.event!)
  const where = (step.where ?? []).map(
    ({ property, op, value }) =>
      `${quoted(property)} ${SIGNS[op]} ${typeof value === 'string' ? quoted(value) : value}`,
  )
  return where.length === 0 ? name : `${name} [${where.join(', ')}]`
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
