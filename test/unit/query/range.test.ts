import { describe, expect, test } from 'vitest'
import { AppError } from '../../../src/error.ts'
import { resolveRange } from '../../../src/query/range.ts'

const NOW_MS = Date.parse('2026-11-30T12:00:00Z')

function resolve(from?: string | number, to?: string | number, timeZone = 'UTC') {
  const { startMs, endMs } = resolveRange({ from, to }, { timeZone, nowMs: NOW_MS })
  return [startMs, endMs].map((ms) => new Date(ms).toISOString())
}

describe('a range', () => {
  test('is the last 30 days, where nothing is said', () => {
    expect(resolve()).toEqual(['2026-10-31T12:00:00.000Z', '2026-11-30T12:00:00.000Z'])
  })

  test('begins 30 days before its end, where only that is said', () => {
    expect(resolve(undefined, '2026-11-01')).toEqual([
      ...['2026-10-02T00:00:00.000Z', '2026-11-01T00:00:00.000Z'],
    ])
  })

  test('ends now, where only its begin is said', () => {
    expect(resolve('2026-11-29')[1]).toBe('2026-11-30T12:00:00.000Z')
  })

  test('takes moments in any form', () => {
    const expected = ['2026-11-29T10:00:00.000Z', '2026-11-30T12:00:00.000Z']
    expect(resolve('2026-11-29T12:00:00+02:00', NOW_MS)).toEqual(expected)
    expect(resolve(NOW_MS - 26 * 3_600_000, '2026-11-30T12:00:00Z')).toEqual(expected)
    expect(resolve(-1, 0)).toEqual(['1969-12-31T23:59:59.999Z', '1970-01-01T00:00:00.000Z'])
  })

  test('may be empty', () => {
    expect(resolve(NOW_MS, NOW_MS)).toEqual([
      '2026-11-30T12:00:00.000Z',
      '2026-11-30T12:00:00.000Z',
    ])
  })
})

describe('a date', () => {
  test.each([
    ['UTC', '2026-11-01', '2026-11-01T00:00:00.000Z'],
    ['Europe/Berlin', '2026-11-01', '2026-10-31T23:00:00.000Z'],
    ['Asia/Kolkata', '2026-11-01', '2026-10-31T18:30:00.000Z'],
    ['Pacific/Kiritimati', '2026-11-01', '2026-10-31T10:00:00.000Z'],
    ['America/Los_Angeles', '2026-11-01', '2026-11-01T07:00:00.000Z'],
  ])('is the start of that day in %s', (timeZone, date, iso) => {
    expect(resolve(date, undefined, timeZone)[0]).toBe(iso)
  })

  test('is a day of 23 or 25 hours where clocks are changed', () => {
    const hoursOf = (from: string, to: string) => {
      const [start, end] = resolve(from, to, 'Europe/Berlin').map((iso) => Date.parse(iso))
      return (end! - start!) / 3_600_000
    }
    expect(hoursOf('2026-03-28', '2026-03-29')).toBe(24)
    expect(hoursOf('2026-03-29', '2026-03-30')).toBe(23)
    expect(hoursOf('2026-10-25', '2026-10-26')).toBe(25)
  })

  test('begins at its first moment where it has no midnight', () => {
    expect(resolve('2018-11-04', '2018-11-05', 'America/Sao_Paulo')).toEqual([
      ...['2018-11-04T03:00:00.000Z', '2018-11-05T02:00:00.000Z'],
    ])
  })

  test('begins at the first of two midnights', () => {
    expect(resolve('2026-11-01', undefined, 'America/Havana')[0]).toBe('2026-11-01T04:00:00.000Z')
  })
})

describe('a question is refused', () => {
  function faultsOf(from?: string | number, to?: string | number, timeZone = 'UTC') {
    try {
      resolveRange({ from, to }, { timeZone, nowMs: NOW_MS })
    } catch (error) {
      if (error instanceof AppError) return [error.code, ...error.faults.map(({ path }) => path)]
      throw error
    }
    return null
  }

  test.each(['', 'yesterday', '2026-11', '2026-02-30', '2026-13-01', '2026-11-01T00:00', '0'])(
    'for %j',
    (moment) => {
      expect(faultsOf(moment)).toEqual(['INVALID_QUERY', 'from'])
      expect(faultsOf(0, moment)).toEqual(['INVALID_QUERY', 'to'])
    },
  )

  test('for numbers that are no time', () => {
    for (const ms of [
      8.64e15 + 1,
      -8.64e15 - 1,
      Number.MAX_SAFE_INTEGER,
      -Number.MAX_SAFE_INTEGER,
    ]) {
      expect(faultsOf(0, ms)).toEqual(['INVALID_QUERY', 'to'])
      expect(faultsOf(ms)).toEqual(['INVALID_QUERY', 'from'])
    }
  })

  test('for a start after the end', () => {
    expect(faultsOf(1, 0)).toEqual(['INVALID_QUERY', 'from'])
    expect(faultsOf(NOW_MS + 1)).toEqual(['INVALID_QUERY', 'from'])
  })

  test('for a time zone that there is not', () => {
    expect(faultsOf('2026-11-01', undefined, 'Mars/Olympus')).toEqual(['INVALID_QUERY', 'from'])
  })
})
