import { expect, test } from 'vitest'
import { isSampledText } from '../../../src/event/bucket.ts'
import { DAY_MS } from '../../../src/event/day.ts'
import { SESSION_ID_PATH } from '../../../src/segment/columns.ts'
import { openColumnBuilder } from '../../../src/query/column-builder.ts'
import type { CodedColumn } from '../../../src/segment/columns.ts'

const cellsOf = ({ codes, values }: CodedColumn) => [...codes].map((code) => values[code])

test('runs hold what was added, by day and name, in its order', () => {
  const builder = openColumnBuilder(['path', 'cart.total'], null)
  const add = (eventTimeMs: number, userId: string, eventName: string, properties: object) =>
    builder.add({
      ...{ eventTimeMs, userId, eventName, sessionId: null },
      properties: JSON.stringify(properties),
    })
  add(DAY_MS - 1, 'ada', 'view', { path: '/b' })
  add(DAY_MS, 'ada', 'view', { path: '/a' })
  add(DAY_MS, 'bob', 'view', { path: null, cart: { total: 1 } })
  add(DAY_MS + 5, 'ada', 'buy', { path: '/a', cart: { total: '1' } })
  add(4 * DAY_MS, 'eve', 'buy', {})

  const { days, userCount } = builder.build()
  expect(userCount).toBe(3)
  const shown = days.map(({ day, runs }) => ({
    day,
    runs: runs.map(({ eventName, rowCount, timeMs, user, properties }) => ({
      ...{ eventName, rowCount, timeMs: [...timeMs], user: [...user] },
      path: cellsOf(properties.get('path')!),
      // Texts and numbers that read alike are two values.
      total: cellsOf(properties.get('cart.total')!),
    })),
  }))
  const buy = { eventName: 'buy', rowCount: 1 }
  const view = { eventName: 'view', rowCount: 1 }
  expect(shown).toEqual([
    { day: 0, runs: [{ ...view, timeMs: [DAY_MS - 1], user: [0], path: ['/b'], total: [null] }] },
    {
      day: 1,
      runs: [
        {
          ...{ eventName: 'view', rowCount: 2, timeMs: [0, 0], user: [0, 1] },
          ...{ path: ['/a', null], total: [null, 1] },
        },
        { ...buy, timeMs: [5], user: [0], path: ['/a'], total: ['1'] },
      ],
    },
    { day: 4, runs: [{ ...buy, timeMs: [0], user: [2], path: [null], total: [null] }] },
  ])
})

test('values take the place of users, by their text; events without one are left out', () => {
  const builder = openColumnBuilder([], 'org')
  for (const [index, org] of [1, 'x', null, '1', undefined, true, [1], 'true'].entries())
    builder.add({
      ...{ eventTimeMs: index, userId: 'ada', eventName: org === null ? 'left out' : 'e' },
      sessionId: null,
      properties: JSON.stringify({ org }),
    })
  const { days, userCount } = builder.build()
  expect(userCount).toBe(3)
  expect(days.map(({ runs }) => runs.map(({ eventName }) => eventName))).toEqual([['e']])
  const { timeMs, user } = days[0]!.runs[0]!
  expect([[...timeMs], [...user]]).toEqual([
    [0, 1, 3, 5, 7],
    [0, 1, 0, 2, 2],
  ])
})

test('times before 1970 are of days below 0', () => {
  const builder = openColumnBuilder([], null)
  builder.add({ eventTimeMs: -1, userId: 'a', eventName: 'e', sessionId: null, properties: '' })
  const [first] = builder.build().days
  expect(first!.day).toBe(-1)
  expect([...first!.runs[0]!.timeMs]).toEqual([DAY_MS - 1])
})

test('a dictionary has null first and no value twice, and all runs share it', () => {
  const builder = openColumnBuilder(['p'], null)
  for (const [index, p] of ['x', null, 'y', 'x', true, [1]].entries())
    builder.add({
      ...{ eventTimeMs: index * DAY_MS, userId: 'a', eventName: 'e', sessionId: null },
      properties: JSON.stringify({ p }),
    })
  const { days } = builder.build()
  const dictionaries = days.map(({ runs }) => runs[0]!.properties.get('p')!.values)
  expect(dictionaries[0]).toEqual([null, 'x', 'y', true])
  expect(new Set(dictionaries).size).toBe(1)
})

test('properties are not parsed where none is asked about', () => {
  const builder = openColumnBuilder([], null)
  builder.add({ eventTimeMs: 0, userId: 'a', eventName: 'e', sessionId: null, properties: '' })
  expect(builder.build().days[0]!.runs[0]!.properties.size).toBe(0)
})

test('session ids are a column where they are asked about, and no property of the event is one', () => {
  const builder = openColumnBuilder([SESSION_ID_PATH, 'p'], null)
  const properties = JSON.stringify({ [SESSION_ID_PATH]: 'sent', p: 1 })
  for (const [index, sessionId] of ['a', null, 'a', ''].entries())
    builder.add({ eventTimeMs: index, userId: 'u', eventName: 'e', sessionId, properties })
  const [run] = builder.build().days[0]!.runs
  expect(cellsOf(run!.properties.get(SESSION_ID_PATH)!)).toEqual(['a', null, 'a', ''])
  expect(cellsOf(run!.properties.get('p')!)).toEqual([1, 1, 1, 1])
})

test('session ids can be counted, without parsing any property', () => {
  const builder = openColumnBuilder([SESSION_ID_PATH], SESSION_ID_PATH)
  for (const [index, sessionId] of ['a', null, 'b', 'a'].entries())
    builder.add({ eventTimeMs: index, userId: 'u', eventName: 'e', sessionId, properties: '' })
  const { days, userIds } = builder.build()
  expect(userIds).toEqual(['a', 'b'])
  expect([...days[0]!.runs[0]!.user]).toEqual([0, 1, 0])
})

test('of a sample only the values that are of it are counted', () => {
  const builder = openColumnBuilder([], 'org', 0.3)
  const orgs = Array.from({ length: 60 }, (_, index) => `org ${index % 20}`)
  for (const [index, org] of orgs.entries())
    builder.add({
      ...{ eventTimeMs: index, userId: 'u', eventName: 'e', sessionId: null },
      properties: JSON.stringify({ org }),
    })
  const kept = orgs.filter((org) => isSampledText(org, 0.3))
  const { days, userIds } = builder.build()
  expect(userIds).toEqual([...new Set(kept)])
  expect(days[0]!.runs[0]!.rowCount).toBe(kept.length)
  expect(kept.length).toBeGreaterThan(0)
})
