/**
 * Who does what: user number n views; every second one also fills a cart, every fourth goes to the
 * checkout, every eighth buys. Each does each step once, so users of a step and events of a name are
 * the same number, and every question has a known answer.
 */
import type { Project } from './project.ts'

const STEPS = ['view', 'cart', 'checkout', 'purchase']
const COUNTRIES = ['DE', 'FR', 'IN', 'JP', 'US']

/** How many users come until one does all steps. */
export const CYCLE = 2 ** (STEPS.length - 1)
export const COUNTRY_COUNT = COUNTRIES.length

export interface SentEvent {
  readonly id: string
  readonly event: string
  readonly userId: number
  readonly time: number
  readonly properties: { readonly serial: number; readonly country: string; readonly path: string }
}

/** The event names of a run, in step order. */
export function stepNames({ prefix }: Project): string[] {
  return STEPS.map((step) => `${prefix}${step}`)
}

/** All events of `count` users from number `first` on, as they are sent. */
export function journeys(project: Project, first: number, count: number): SentEvent[] {
  const nowMs = Date.now()
  const events: SentEvent[] = []
  for (let serial = first; serial < first + count; serial++) {
    const country = COUNTRIES[serial % COUNTRIES.length]!
    stepNames(project).forEach((event, step) => {
      if (serial % 2 ** step !== 0) return
      const properties = { serial, country, path: `/shop/${step}` }
      const userId = project.firstUserId + serial
      events.push({ id: `${serial}-${step}`, event, userId, time: nowMs + step, properties })
    })
  }
  return events
}

/** How many of users 0 to `count` - 1 come to each step. */
export function usersPerStep(count: number): number[] {
  return STEPS.map((_, step) => Math.ceil(count / 2 ** step))
}
