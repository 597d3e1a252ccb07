import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dayOf, monthOf, monthOfDay, monthStartMs } from '../../src/event/day.ts'
import { parseIsoTimeMs } from '../../src/event/time.ts'

const moment = fc
  .date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9998-12-31T00:00:00Z'),
    noInvalidDate: true,
  })
  .map((date) => date.getTime())
const digits = (count: number, width = 2) => String(count).padStart(width, '0')

describe('an ISO time', () => {
  test('as Date writes it is read back', () => {
    fc.assert(
      fc.property(moment, (timeMs) => {
        expect(parseIsoTimeMs(new Date(timeMs).toISOString())).toBe(timeMs)
      }),
    )
  })

  test('of any zone is what Date reads', () => {
    const offset = fc.tuple(fc.constantFrom('+', '-'), fc.nat(23), fc.nat(59))
    fc.assert(
      fc.property(moment, offset, (timeMs, [sign, hours, minutes]) => {
        const local = new Date(timeMs).toISOString().slice(0, -1)
        const text = `${local}${sign}${digits(hours)}:${digits(minutes)}`
        expect(parseIsoTimeMs(text)).toBe(Date.parse(text))
      }),
    )
  })

  test.each([
    ['2026-11-30T12:00Z', '2026-11-30T12:00:00.000Z'],
    ['2026-11-30 12:00:00Z', '2026-11-30T12:00:00.000Z'],
    ['2026-11-30t12:00:00z', '2026-11-30T12:00:00.000Z'],
    ['2026-11-30T12:00:00.1Z', '2026-11-30T12:00:00.100Z'],
    ['2026-11-30T12:00:00,123Z', '2026-11-30T12:00:00.123Z'],
    ['2026-11-30T12:00:00.999999999Z', '2026-11-30T12:00:00.999Z'],
    ['2026-11-30T12:00:00+0530', '2026-11-30T06:30:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
    ['0050-06-01T00:00:00Z', '0050-06-01T00:00:00.000Z'],
  ])('%s is %s', (text, iso) => {
    expect(parseIsoTimeMs(text)).toBe(Date.parse(iso))
  })

  test.each([
    ...['', 'now', '2026', '2026-11-30', '2026-11-30T12:00:00', '2026-11-30T12Z', '1764504000000'],
    ...['2026-02-30T00:00:00Z', '2025-02-29T00:00:00Z', '2026-00-10T00:00:00Z'],
    ...['2026-13-01T00:00:00Z', '2026-04-31T00:00:00Z', '2026-04-00T00:00:00Z'],
    ...['2026-11-30T24:00:00Z', '2026-11-30T12:60:00Z', '2026-11-30T12:00:60Z'],
    ...['2026-11-30T12:00:00+24:00', '2026-11-30T12:00:00+01:60', '2026-11-30T12:00:00+1'],
    ...[
      '2026-11-30T12:00:00.Z',
      '+02026-11-30T12:00:00Z',
      ' 2026-11-30T12:00:00Z',
      '٢٠٢٦-11-30T12:00Z',
    ],
    ...['2026-11-30T12:00:00Z\n', '2026-11-30T12:00:00.1234567890Z'],
  ])('%j is none', (text) => {
    expect(parseIsoTimeMs(text)).toBeNull()
  })
})

describe('a UTC day and month', () => {
  test('hold their moments', () => {
    fc.assert(
      fc.property(moment, (timeMs) => {
        const date = new Date(timeMs)
        expect(dayOf(timeMs)).toBe(
          Date.parse(date.toISOString().slice(0, 10) + 'T00:00:00Z') / 86_400_000,
        )
        const month = monthOf(timeMs)
        expect(monthOfDay(dayOf(timeMs))).toBe(month)
        expect(monthStartMs(month)).toBeLessThanOrEqual(timeMs)
        expect(monthStartMs(month + 1)).toBeGreaterThan(timeMs)
      }),
    )
  })
})
