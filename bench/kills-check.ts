// Compares what segments and rows answer, and both with what was acknowledged.
import { systemClock as clock } from '../src/clock.ts'
import { DAY_MS } from '../src/event/day.ts'
import { ask, freshSteps } from './ask.ts'
import { LATE_MS_MAX, NAMES, type Sender } from './kills-sender.ts'

export interface Check {
  /** Questions that segments and rows answer differently. */
  readonly unequal: number
  /** Events that are acknowledged and not in segments. */
  readonly lost: number
  /** Events that are in segments twice. */
  readonly doubled: number
}

const THREE = NAMES.slice(0, 3)

/** Returns a function that asks, while nothing is being sent, what is to be equal. */
export function openKillsCheck(url: string, key: string, sender: Sender) {
  const fromMs = clock.nowMs() - LATE_MS_MAX - DAY_MS

  async function asked(query: object) {
    const { answer } = await ask(url, key, {
      ...{ from: fromMs, to: clock.nowMs() + DAY_MS, rangeBounds: 'all' },
      ...{ window: '7d', freshness: 'now', ...query },
    })
    return answer
  }

  async function isEqual(query: object): Promise<boolean> {
    const [ofSegments, ofRows] = await Promise.all(
      ['segments', 'events'].map(async (source) => {
        const { steps, breakdown = [] } = await asked({ ...query, source })
        const users = (of: readonly { users: number }[]) => of.map((step) => step.users)
        const parts = breakdown.map((part) => [part.value, users(part.steps)])
        return JSON.stringify([users(steps), parts])
      }),
    )
    if (ofSegments !== ofRows) console.log(`segments ${ofSegments}, rows ${ofRows}`)
    return ofSegments === ofRows
  }

  /** Who takes the step of a name, and who takes it twice, which nobody does with one event of it. */
  async function usersOf(name: string): Promise<readonly [number, number]> {
    const { steps } = await asked({ steps: freshSteps([name, name]) })
    return [steps[0]!.users, steps[1]!.users]
  }

  return async (): Promise<Check> =>
    await sender.whilePaused(async () => {
      const filtered = freshSteps(THREE).map((step, index) =>
        index === 1 ? { ...step, where: [{ property: 'plan', value: 'pro' }] } : step,
      )
      const questions = [
        { steps: freshSteps(THREE) },
        { steps: freshSteps(THREE), breakdown: { property: 'country' } },
        { steps: filtered },
      ]
      let unequal = 0
      for (const question of questions) if (!(await isEqual(question))) unequal++

      let lost = 0
      let doubled = 0
      for (const name of NAMES) {
        const [once, twice] = await usersOf(name)
        const missing = (sender.expected.get(name) ?? 0) - once
        lost += Math.max(0, missing)
        doubled += twice + Math.max(0, -missing)
      }
      // Of all names together: each user once, however many of its events are there.
      const { steps } = await asked({ steps: [{ anyEvent: true }] })
      const missingUsers = sender.userCount() - steps[0]!.users
      if (missingUsers !== 0) console.log(`${missingUsers} users are missing`)
      lost += Math.max(0, missingUsers)
      doubled += Math.max(0, -missingUsers)
      return { unequal, lost, doubled }
    })
}
