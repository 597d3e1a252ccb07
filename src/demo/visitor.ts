import { DAY_MS, dayOf, HOUR_MS, MINUTE_MS } from '../event/day.ts'
import type { Random, Weighted } from './random.ts'
import {
  BROWSERS,
  COUNTRIES,
  DEVICES,
  EARLIER_RATE,
  FIRST_SOURCES,
  HOUR_WEIGHTS,
  RETURN_SOURCES,
  WEEKDAY_WEIGHTS,
  type Country,
  type Device,
  type Source,
} from './shop.ts'

/** How long before the range the first visit of somebody may lie. */
const EARLIER_DAYS_MAX = 60
/** 1970 began on a Thursday. */
const FIRST_WEEKDAY = 4
const HOURS: Weighted<number> = HOUR_WEIGHTS.map((weight, hour) => [hour, weight])

export interface Visitor {
  readonly country: Country
  readonly device: Device
  readonly browser: string
  /** Whether the first visit lies before the range. */
  readonly isEarlier: boolean
  readonly visits: readonly Visit[]
}

export interface Visit {
  readonly startMs: number
  readonly source: Source
}

/** Draws who somebody is, and when they come: their visits, from the first day of the range to its last. */
export function drawVisitor(
  random: Random,
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
): Visitor {
  const country = random.pick(COUNTRIES)
  const device = random.pick(DEVICES)
  const browser = random.pick(BROWSERS[device])
  const isEarlier = random.chance(EARLIER_RATE)
  const [firstDay, lastDay] = [dayOf(startMs), dayOf(endMs - 1)]
  const bornDay = isEarlier
    ? firstDay - random.integer(1, EARLIER_DAYS_MAX)
    : drawFirstDay(random, firstDay, lastDay)
  // Most do not care for the shop, a few do very much.
  const loyalty = 1.6 * random.next() ** 2
  const visits: Visit[] = []
  for (let day = Math.max(bornDay, firstDay); day <= lastDay; day++) {
    const isFirst = day === bornDay
    if (!isFirst && !random.chance(loyalty * habit(day - bornDay) * weekdayWeight(day))) continue
    const localMs = random.pick(HOURS) * HOUR_MS + random.next() * 60 * MINUTE_MS
    visits.push({
      startMs: Math.floor(day * DAY_MS + localMs - country.utcOffsetHours * HOUR_MS),
      source: random.pick(isFirst ? FIRST_SOURCES : RETURN_SOURCES),
    })
  }
  return { country, device, browser, isEarlier, visits }
}

/** How likely one comes again so many days after the first: less and less, and more on the same weekday. */
function habit(age: number): number {
  const weekly = age % 7 === 0 ? 0.35 * Math.exp(-age / 30) : 0
  return 0.45 * Math.exp(-age / 5) + 0.06 + weekly
}

/** More come first on busy weekdays, and more from week to week. */
function drawFirstDay(random: Random, firstDay: number, lastDay: number): number {
  const days: [number, number][] = []
  for (let day = firstDay; day <= lastDay; day++)
    days.push([day, weekdayWeight(day) * (1 + (0.4 * (day - firstDay)) / (lastDay - firstDay + 1))])
  return random.pick(days)
}

function weekdayWeight(day: number): number {
  return WEEKDAY_WEIGHTS[(day + FIRST_WEEKDAY) % 7]!
}
