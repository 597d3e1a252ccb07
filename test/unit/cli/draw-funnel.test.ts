import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { drawFunnel } from '../../../src/cli/draw-funnel.ts'
import { bar, duration, points } from '../../../src/cli/figures.ts'
import { FunnelAnswer } from '../../../src/cli/funnel-answer.ts'
import { answerSteps, FUNNEL_ANSWER } from '../../support/funnel-answer.ts'

const HOUR_MS = 3_600_000

/** The blocks that are drawn, between empty lines. */
function drawn(answer: object, width = 120): string[] {
  const parsed = FunnelAnswer.parse({ ...FUNNEL_ANSWER, ...answer })
  return stripVTControlCharacters(drawFunnel(parsed, width)).split('\n\n')
}

const timed = answerSteps(['page_view', 8], ['purchase', 2, 90_000, 2 * HOUR_MS, 36 * HOUR_MS])
const TIMES = { medianMs: 90_000, meanMs: 2 * HOUR_MS, p90Ms: 36 * HOUR_MS }
const range = { from: '2026-10-01T00:00:00.000Z', to: '2026-10-31T00:00:00.000Z' }

describe('a funnel for people', () => {
  test('has bars, counts and shares, and what they rest on', () => {
    expect(drawn({})).toEqual([
      `1 page_view ${'█'.repeat(40)} 8\n` +
        `2 purchase  ${'█'.repeat(10)}${'░'.repeat(30)} 2  25.0 % of all, 25.0 % of the last`,
      'Users by this and that.',
      'users, as of 2026-11-30T00:00:00.000Z; read 10 events of 2 partitions in 3 ms',
    ])
  })

  test('has narrower bars in a narrow terminal, and none narrower than 10', () => {
    const [bars] = drawn({}, 80)
    expect(bars!.split('\n').map((line) => line.length)).toEqual([45, 80])
    expect(drawn({}, 20)[0]).toMatch(/^1 page_view █{10} 8\n2 purchase {2}█{3}░{7} 2 /)
  })

  test('has warnings, its unit, and advice where there is nobody', () => {
    const steps = answerSteps(['a', 0], ['b', 0])
    const blocks = drawn({ steps, warnings: ['an estimate\u0007'], unit: 'sessions × org' })
    expect(blocks.slice(1)).toEqual([
      'an estimate?',
      'Nobody: is it of another time? --from and --to ask for it.',
      'Users by this and that.',
      expect.stringMatching(/^sessions × org, as of /),
    ])
  })

  test('has columns of times by step, in all, and a histogram', () => {
    const histogram = [
      { fromMs: 1_000, toMs: HOUR_MS, users: 16 },
      { fromMs: HOUR_MS, toMs: 2 * HOUR_MS, users: 3 },
    ]
    const [steps, inAll, bars] = drawn({ steps: timed, timeToConvert: TIMES, histogram }, 80)
    expect(steps!.split('\n')).toEqual([
      'step                              users   of all  of last  median   mean   p90',
      '1 page_view  ███████████████████      8  100.0 %',
      '2 purchase   █████░░░░░░░░░░░░░░      2   25.0 %   25.0 %  1.5 min  2.0 h  1.5 d',
    ])
    expect(inAll).toBe(
      'from the first step to the last: median 1.5 min, mean 2.0 h, p90 1.5 d\n' +
        'times of a step are from the one before it',
    )
    expect(bars!.split('\n')).toEqual([
      'from   to     users',
      `1.0 s  1.0 h     16  ${'█'.repeat(40)}`,
      `1.0 h  2.0 h      3  ${'█'.repeat(7)}▌`,
    ])
  })

  test('has no more than 20 bars of times, and counts all', () => {
    const histogram = Array.from({ length: 99 }, (_, at) => ({
      ...{ fromMs: at * HOUR_MS, toMs: (at + 1) * HOUR_MS, users: 1 },
    }))
    const blocks = drawn({ steps: timed, timeToConvert: TIMES, histogram })
    const lines = blocks[2]!.split('\n').slice(1)
    expect(lines.length).toBe(20)
    expect(lines.at(-1)).toMatch(/^4\.0 d +4\.1 d +4 {2}█{32}$/)
  })

  test('has a second column for what it is compared with, and the change in percentage points', () => {
    const compare = {
      ...range,
      steps: answerSteps(['page_view', 10], ['purchase', 2]),
      breakdown: [{ value: 'DE', steps: answerSteps(['page_view', 2], ['purchase', 2]) }],
    }
    const breakdown = ['DE', 'FR'].map((value) => ({
      ...{ value, steps: answerSteps(['page_view', 4], ['purchase', 1]) },
    }))
    const [steps, german, french, , restsOn] = drawn({ breakdown, compare }, 60)
    expect(steps!.split('\n')).toEqual([
      'step         users   of all  of last  compared  change',
      '1 page_view      8  100.0 %                 10',
      '2 purchase       2   25.0 %   25.0 %         2  +5.0 pp',
    ])
    expect(german).toMatch(/^DE\n.*\n1 page_view .* 2\n2 purchase .* 2 {2}-75\.0 pp$/)
    expect(french).toMatch(/^FR\n.*\n1 page_view .* –\n2 purchase .* – +–$/)
    expect(restsOn).toMatch(/\ncompared with 2026-10-01T00:00:00.000Z to before 2026-10-31T00/)
  })

  test('compares other values only where they are the same ones', () => {
    const parts = (...values: string[]) =>
      values.map((value) => ({ value, steps: answerSteps(['a', 4], ['b', 1]) }))
    const [breakdown, steps] = [parts('DE', '$other'), FUNNEL_ANSWER.steps]
    const same = drawn({ breakdown, compare: { ...range, steps, breakdown } })
    expect(same[2]).toMatch(/^\$other\n.*\n.* 4\n.* 1 {2}0\.0 pp$/)
    const others = parts('FR', '$other')
    const different = drawn({ breakdown, compare: { ...range, steps, breakdown: others } })
    expect(different[2]).toMatch(/^\$other\n.*\n.* –\n.* – +–$/)
  })

  test('tells of no change where there was nobody', () => {
    const compare = { ...range, steps: answerSteps(['page_view', 0], ['purchase', 0]) }
    expect(drawn({ compare })[0]).toMatch(/ 0\n2 purchase .* 0 {2}–$/)
  })

  const trend = [
    { from: '2026-11-01T00:00:00.000Z', steps: timed, open: false },
    { ...{ from: '2026-11-02T00:00:00.000Z', steps: answerSteps(['a', 4], ['b', 2]), open: true } },
  ]

  test('has a line for each interval of a trend, and a mark for those still open', () => {
    const [, byEntry, legend] = drawn({ trend }, 60)
    expect(byEntry!.split('\n')).toEqual([
      'by the time of the entry',
      'from        1 page_view  2 purchase   of all',
      '2026-11-01            8           2   25.0 %',
      '2026-11-02            4           2   50.0 %  open',
    ])
    expect(legend).toBe('open: later steps of these may still come')
    const wide = drawn({ trend }, 80)[1]!.split('\n')
    expect(wide[2]).toMatch(/ 25\.0 % {2}█{14}$/)
    expect(wide[3]).toMatch(/ 50\.0 % {2}█{28} {2}open$/)
  })

  test('names the steps of a trend by number where their labels do not fit', () => {
    const [, byEntry] = drawn({ trend: [trend[0]] }, 40)
    expect(byEntry!.split('\n')[1]).toBe('from        1  2   of all')
  })

  test('tells moments of a trend whose days do not begin at midnight UTC', () => {
    const [berlin] = [{ ...trend[0]!, from: '2026-10-31T23:00:00.000Z' }]
    expect(drawn({ trend: [berlin, trend[1]] })[1]).toContain('\n2026-11-02T00:00:00.000Z ')
  })

  test('has times and the trend of what it is compared with', () => {
    const compare = { ...range, steps: timed, timeToConvert: TIMES, trend: [trend[0]] }
    const blocks = drawn({ steps: timed, timeToConvert: TIMES, trend, compare })
    expect(blocks[1]).toContain('\ncompared: median 1.5 min, mean 2.0 h, p90 1.5 d\n')
    expect(blocks[3]).toMatch(/^compared\nfrom .*\n2026-11-01 .*$/)
  })
})

test('durations are told in their largest unit, to two figures', () => {
  const told = [0, 999, 1_000, 59_940, 90_000, 12 * HOUR_MS, 240 * HOUR_MS].map(duration)
  expect(told).toEqual(['0 ms', '999 ms', '1.0 s', '60 s', '1.5 min', '12 h', '10 d'])
  expect(duration(null)).toBe('–')
})

test('differences are told with their sign, and as nothing where they are too small', () => {
  expect([0.1, -0.1, 0.0001, -0.0001].map(points)).toEqual([
    ...['+10.0 pp', '-10.0 pp', '0.0 pp', '0.0 pp'],
  ])
})

test('bars are drawn to an eighth of a character', () => {
  expect([0, 1 / 16, 0.5, 1].map((share) => bar(share, 2))).toEqual(['', '▏', '█', '██'])
})
