import { expect, test } from 'vitest'
import { openColumnBuilder } from '../../../src/query/column-builder.ts'
import type { CodedColumn } from '../../../src/segment/columns.ts'

const cellsOf = ({ codes, values }: CodedColumn) => [...codes].map((code) => values[code])

test('columns hold what was added, in its order', () => {
  const builder = openColumnBuilder(['path', 'cart.total'])
  const add = (eventTimeMs: number, userId: string, eventName: string, properties: object) =>
    builder.add({ eventTimeMs, userId, eventName, properties: JSON.stringify(properties) })
  add(1, 'ada', 'view', { path: '/a' })
  add(1, 'bob', 'view', { path: null, cart: { total: 1 } })
  add(5, 'ada', 'buy', { path: '/a', cart: { total: '1' } })

  const { columns, userCount } = builder.build()
  expect(userCount).toBe(2)
  expect(columns.rowCount).toBe(3)
  expect([...columns.timeMs]).toEqual([1, 1, 5])
  expect([...columns.user]).toEqual([0, 1, 0])
  expect(cellsOf(columns.event)).toEqual(['view', 'view', 'buy'])
  expect(cellsOf(columns.properties.get('path')!)).toEqual(['/a', null, '/a'])
  // Texts and numbers that read alike are two values.
  expect(cellsOf(columns.properties.get('cart.total')!)).toEqual([null, 1, '1'])
})

test('a column has null first and no value twice', () => {
  const builder = openColumnBuilder(['p'])
  for (const p of ['x', null, 'y', 'x', true, [1]])
    builder.add({ eventTimeMs: 0, userId: 'a', eventName: 'e', properties: JSON.stringify({ p }) })
  const { columns } = builder.build()
  expect(columns.properties.get('p')!.values).toEqual([null, 'x', 'y', true])
})

test('properties are not parsed where none is asked about', () => {
  const builder = openColumnBuilder([])
  builder.add({ eventTimeMs: 0, userId: 'a', eventName: 'e', properties: '' })
  expect(builder.build().columns.properties.size).toBe(0)
})
