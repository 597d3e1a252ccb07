import { expect, test } from 'vitest'
import { firstReadMs, openReadStarts } from '../../../src/query/history.ts'

const range = { startMs: 100, endMs: 200 }

test('names are read from the beginning of the range, and others never', () => {
  const startOf = openReadStarts({ range, eventNames: ['view'], history: null })
  expect([startOf('view'), startOf('buy')]).toEqual([100, Infinity])
  const ofAll = openReadStarts({ range, eventNames: null, history: null })
  expect(ofAll('anything')).toBe(100)
  expect(firstReadMs({ range, history: null })).toBe(100)
})

test('names of the history are read from its beginning, whether or not they are asked for', () => {
  const history = { startMs: 10, eventNames: ['first', 'view'] }
  const startOf = openReadStarts({ range, eventNames: ['view', 'buy'], history })
  expect(['first', 'view', 'buy', 'other'].map(startOf)).toEqual([10, 10, 100, Infinity])
  const ofAll = openReadStarts({ range, eventNames: null, history })
  expect(['first', 'other'].map(ofAll)).toEqual([10, 100])
  expect(firstReadMs({ range, history })).toBe(10)
})

test('a history of every name is read of all', () => {
  const history = { startMs: 10, eventNames: null }
  const startOf = openReadStarts({ range, eventNames: ['view'], history })
  expect([startOf('view'), startOf('other')]).toEqual([10, 10])
})

test('a history that begins after the range takes nothing from it', () => {
  const history = { startMs: 150, eventNames: ['view'] }
  const startOf = openReadStarts({ range, eventNames: ['view'], history })
  expect([startOf('view'), firstReadMs({ range, history })]).toEqual([100, 100])
})
