import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  parseExclusion,
  parseFunnel,
  parseNames,
  parseWhere,
  type ParsedCondition,
  type ParsedStep,
} from '../../../src/cli/funnel-grammar.ts'
import { AppError } from '../../../src/error.ts'

const SIGNS: Record<string, string> = {
  ...{ eq: '=', ne: '!=', gt: '>', gte: '>=', lt: '<', lte: '<=' },
  ...{ contains: '~', notContains: '!~', startsWith: '^=', endsWith: '$=', matches: '=~' },
}

function messageOf(text: string, parse: (text: string) => unknown = parseFunnel): string {
  try {
    parse(text)
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

  test('has steps that may be left out, are first times, or have a label', () => {
    const where = [{ property: 'path', op: 'eq', value: '/' }]
    expect(
      parseFunnel('first:sign_up > coupon? > first-matching:view[path=/]? > x|y ? > "b?"'),
    ).toEqual([
      { event: 'sign_up', firstTime: true },
      { event: 'coupon', optional: true },
      { event: 'view', where, firstTime: 'matching', optional: true },
      { anyOf: [{ event: 'x' }, { event: 'y' }], optional: true },
      { event: 'b?' },
    ])
    expect(parseFunnel('the price = view[path=/] > done=first:"a = b"|c? > "first:x"')).toEqual([
      { label: 'the price', event: 'view', where },
      {
        ...{ label: 'done', firstTime: true, optional: true },
        anyOf: [{ event: 'a = b' }, { event: 'c' }],
      },
      { event: 'first:x' },
    ])
  })

  test.each([
    ['x^=a', 'startsWith', 'a'],
    ['x$=a', 'endsWith', 'a'],
    ['x =~ ^(a|b)$', 'matches', '^(a|b)$'],
    ['x=a|2|"3|*"', 'in', ['a', 2, '3|*']],
    ['x!=a|b', 'notIn', ['a', 'b']],
    ['x=10..20.5', 'between', [10, 20.5]],
    ['x=*', 'isSet', undefined],
    ['x!=*', 'isNotSet', undefined],
    ['x="*"', 'eq', '*'],
    ['x="1..2"', 'eq', '1..2'],
    ['x!=1..2', 'ne', '1..2'],
    ['x=/a/../b', 'eq', '/a/../b'],
  ])('%j is a condition by %s', (text, op, value) => {
    expect(parseWhere(text)).toEqual([{ property: 'x', op, ...(value !== undefined && { value }) }])
  })

  test('has names of properties with a dollar, and a caret', () => {
    expect(parseWhere('$browser=x, a^b$=y')).toEqual([
      { property: '$browser', op: 'eq', value: 'x' },
      { property: 'a^b', op: 'endsWith', value: 'y' },
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
    ['a[x]', 'at character 4: expected = != > >= < <= ~ !~ ^= $= or =~, found ]'],
    ['a[x=]', 'at character 5: expected a value, found ]'],
    ['a["x', 'at character 5: expected a closing ", found the end'],
    ['a|*', 'at character 4: expected an event name, not *, beside |, found the end'],
    ['a? b', 'at character 4: expected > or |, found b'],
    ['first: > b', 'at character 8: expected an event name, found >'],
    ['a = b = c', 'at character 7: expected > or |, found ='],
    ['a[x=1|]', 'at character 7: expected a value, found ]'],
    ['"a" b', 'at character 5: expected > or |, found b'],
    ['a]', 'at character 2: expected > or |, found ]'],
  ])('%j is refused with the place', (text, message) => {
    expect(messageOf(text)).toBe(message)
  })

  test('means the same after it is written out', () => {
    const name = fc.string({ minLength: 1, maxLength: 12, unit: 'binary' })
    // Without the zero that is written as the other one.
    const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((given) => given + 0)
    const value = fc.oneof(name, fc.boolean(), number)
    const condition: fc.Arbitrary<ParsedCondition> = fc.oneof(
      fc.record({ property: name, op: fc.constantFrom(...Object.keys(SIGNS)), value }),
      fc.record({
        ...{ property: name, op: fc.constantFrom('in', 'notIn') },
        value: fc.array(value, { minLength: 2, maxLength: 3 }),
      }),
      fc.record({
        ...{ property: name, op: fc.constant('between'), value: fc.tuple(number, number) },
      }),
      fc.record({ property: name, op: fc.constantFrom('isSet', 'isNotSet') }),
    )
    const where = fc.array(condition, { minLength: 1, maxLength: 3 })
    const matcher = fc.oneof(fc.record({ event: name }), fc.record({ event: name, where }))
    const matched: fc.Arbitrary<ParsedStep> = fc.oneof(
      matcher,
      fc.record({ anyOf: fc.array(matcher, { minLength: 2, maxLength: 3 }) }),
      fc.constant({ anyEvent: true as const }),
      where.map((conditions) => ({ anyEvent: true as const, where: conditions })),
    )
    const marked = fc.record(
      {
        ...{ label: name, optional: fc.constant(true as const) },
        firstTime: fc.constantFrom(true as const, 'matching' as const),
      },
      { requiredKeys: [] },
    )
    const step = fc.tuple(matched, marked).map(([one, marks]) => ({ ...one, ...marks }))
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), (steps) => {
        expect(parseFunnel(steps.map(written).join('>'))).toEqual(steps)
      }),
    )
  })

  test('is parsed or refused, whatever it is', () => {
    const sign = fc.constantFrom(...'ab>|[]=!~<,"\\* ?:^$@-.1')
    fc.assert(
      fc.property(
        fc.string({ unit: fc.oneof(sign, fc.constant('first:')), maxLength: 20 }),
        (text) => {
          expect(messageOf(text)).toMatch(/^(no error$|at character \d+: expected )/)
        },
      ),
    )
  })
})

describe('an exclusion as it is typed', () => {
  test('has an event, conditions, and the steps that it lies between', () => {
    expect(parseExclusion('logout')).toEqual({ event: 'logout' })
    expect(parseExclusion('logout@2')).toEqual({ event: 'logout', afterStep: 2 })
    expect(parseExclusion('logout[reason=x@y, n>1] @ 1 - 12')).toEqual({
      ...{ event: 'logout', afterStep: 1, beforeStep: 12 },
      where: [
        { property: 'reason', op: 'eq', value: 'x@y' },
        { property: 'n', op: 'gt', value: 1 },
      ],
    })
    expect(parseExclusion('"a@b"@1')).toEqual({ event: 'a@b', afterStep: 1 })
  })

  test.each([
    ['', 'at character 1: expected an event name, found the end'],
    ['a@', 'at character 3: expected the number of a step, found the end'],
    ['a@x', 'at character 3: expected the number of a step, found x'],
    ['a@1-', 'at character 5: expected the number of a step, found the end'],
    ['a@1 2', 'at character 5: expected @ and the steps, such as @1-2, found 2'],
    ['a > b', 'at character 3: expected @ and the steps, such as @1-2, found >'],
  ])('%j is refused with the place', (text, message) => {
    expect(messageOf(text, parseExclusion)).toBe(message)
  })
})

test('names are joined by commas, and quoted where they hold one', () => {
  expect(parseNames('org, plan.name,"a,b"')).toEqual(['org', 'plan.name', 'a,b'])
  expect(messageOf('a,', parseNames)).toBe('at character 3: expected a name, found the end')
  expect(messageOf('"a" b', parseNames)).toBe('at character 5: expected a comma, found b')
})

function written({ label, firstTime, optional, ...matched }: ParsedStep): string {
  const mark = firstTime === undefined ? '' : firstTime === true ? 'first:' : 'first-matching: '
  const name = label === undefined ? '' : `${quoted(label)} = `
  return `${name}${mark}${writtenMatch(matched)}${optional === true ? ' ?' : ''}`
}

function writtenMatch({ anyOf, anyEvent, event, where = [] }: ParsedStep): string {
  if (anyOf !== undefined) return anyOf.map(writtenMatch).join(' | ')
  const name = anyEvent === true ? '*' : quoted(event!)
  return where.length === 0 ? name : `${name} [${where.map(writtenCondition).join(', ')}]`
}

function writtenCondition({ property, op, value }: ParsedCondition): string {
  const values = [value ?? []].flat().map((one) => (typeof one === 'string' ? quoted(one) : one))
  const rest = {
    ...{ isSet: '= *', isNotSet: '!= *', between: `= ${values.join('..')}` },
    ...{ in: `= ${values.join('|')}`, notIn: `!= ${values.join(' | ')}` },
  }[op]
  return `${quoted(property)} ${rest ?? `${SIGNS[op]} ${values.join('')}`}`
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
