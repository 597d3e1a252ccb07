import { Temporal } from '@js-temporal/polyfill'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openMoments } from '../../../src/cli/import/moment.ts'

const iso = (timeMs: number | null) => (timeMs === null ? null : new Date(timeMs).toISOString())

describe('a time in a file', () => {
  test.each([
    ['2024-03-13 10:21:14', '2024-03-13T10:21:14.000Z'],
    ['2024-03-13T10:21:14.5', '2024-03-13T10:21:14.500Z'],
    ['2024-03-13 10:21', '2024-03-13T10:21:00.000Z'],
    ['2024-03-13', '2024-03-13T00:00:00.000Z'],
    ['2024-03-13T10:21:14+02:00', '2024-03-13T08:21:14.000Z'],
    ['2024-03-13 10:21:14.123456+02', '2024-03-13T08:21:14.123Z'],
    ['2024-03-13 10:21:14 -0330', '2024-03-13T13:51:14.000Z'],
    ['2024-03-13 10:21:14 UTC', '2024-03-13T10:21:14.000Z'],
    ['1710325274', '2024-03-13T10:21:14.000Z'],
    ['1710325274.25', '2024-03-13T10:21:14.250Z'],
    ['1710325274250', '2024-03-13T10:21:14.250Z'],
  ])('%j is %s', (text, expected) => {
    expect(iso(openMoments('UTC')(text))).toBe(expected)
  })

  test.each([
    '',
    'yesterday',
    '13/03/2024',
    '20240313',
    '2024-02-30',
    '2024-03-13 25:00',
    '-1',
    '1e9',
  ])('%j is none', (text) => {
    expect(openMoments('UTC')(text)).toBeNull()
    expect(openMoments('Europe/Berlin')(text)).toBeNull()
  })

  test('without a zone is meant in the one that is given; its own zone comes first', () => {
    const momentMs = openMoments('Europe/Berlin')
    expect(iso(momentMs('2024-03-13 10:21:14'))).toBe('2024-03-13T09:21:14.000Z')
    expect(iso(momentMs('2024-07-13 10:21:14'))).toBe('2024-07-13T08:21:14.000Z')
    expect(iso(momentMs('2024-07-13'))).toBe('2024-07-12T22:00:00.000Z')
    expect(iso(momentMs('2024-07-13 10:21:14Z'))).toBe('2024-07-13T10:21:14.000Z')
  })

  test('that the clocks skip lies after the gap, and one that they repeat is the first', () => {
    const momentMs = openMoments('Europe/Berlin')
    expect(iso(momentMs('2024-03-31 02:30:00'))).toBe('2024-03-31T01:30:00.000Z')
    expect(iso(momentMs('2024-10-27 02:30:00'))).toBe('2024-10-27T00:30:00.000Z')
  })

  test.each([
    ['Europe/Dublin', '2024-03-31'],
    ['Europe/Dublin', '2024-10-27'],
    ['America/New_York', '2024-11-03'],
    ['Australia/Lord_Howe', '2024-04-07'],
    ['Australia/Lord_Howe', '2024-10-06'],
    ['Asia/Kathmandu', '2024-01-01'],
  ])('in %s on %s is what Temporal makes of it, at every minute', (zone, date) => {
    const momentMs = openMoments(zone)
    for (let minute = 0; minute < 360; minute++) {
      const clock = new Date(minute * 60_000).toISOString().slice(11, 19)
      const local = `${date}T${clock}`
      const { epochMilliseconds } = Temporal.PlainDateTime.from(local).toZonedDateTime(zone)
      expect([local, momentMs(local)]).toEqual([local, epochMilliseconds])
    }
  })

  test('is what Temporal makes of it, in any zone', () => {
    const zones = ['America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Europe/Dublin']
    const momentsOf = new Map(zones.map((zone) => [zone, openMoments(zone)]))
    const date = fc.date({
      min: new Date('2015-01-01'),
      max: new Date('2030-01-01'),
      noInvalidDate: true,
    })
    fc.assert(
      fc.property(fc.constantFrom(...zones), date, (zone, moment) => {
        const local = moment.toISOString().slice(0, -1)
        const { epochMilliseconds } = Temporal.PlainDateTime.from(local).toZonedDateTime(zone)
        expect(momentsOf.get(zone)!(local)).toBe(epochMilliseconds)
      }),
    )
  })
})
