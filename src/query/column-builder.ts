import { textOf } from '../analysis/condition.ts'
import { isSampledText } from '../event/bucket.ts'
import { DAY_MS, dayOf } from '../event/day.ts'
import { propertyAt } from '../event/property.ts'
import { SESSION_ID_PATH, type DayRuns, type Run } from '../segment/columns.ts'
import { openDictionary } from '../segment/dictionary.ts'

/**
 * One event on its way into columns. `properties` is JSON text, or empty when none are asked about; so is the session
 * id null when it is not.
 */
export interface ColumnEvent {
  readonly eventTimeMs: number
  readonly userId: string
  readonly eventName: string
  readonly sessionId: string | null
  readonly properties: string
}

/** The events of one fold group: its days in ascending order, and the users that they are of. */
export interface GroupRuns {
  readonly days: readonly DayRuns[]
  readonly userCount: number
  /** By position. */
  readonly userIds: readonly string[]
}

/**
 * Builds the runs of one fold group from events in time order, with columns of `properties`, among which may be
 * SESSION_ID_PATH. Users are numbered in the order of their first event. With `countBy` the values of that
 * property take their place, those that read alike being one; events without it are left out, and those whose
 * value is not sampled (event/bucket.ts).
 */
export function openColumnBuilder(
  properties: readonly string[],
  countBy: string | null,
  sample = 1,
) {
  const userNumbers = new Map<string, number>()
  const dictionaries = properties.map((property) => ({ property, dictionary: openDictionary() }))
  const needsProperties = [...properties, countBy].some(
    (path) => path !== null && path !== SESSION_ID_PATH,
  )
  const days: { day: number; runs: Map<string, OpenRun> }[] = []

  function runOf(day: number, eventName: string): OpenRun {
    if (days.at(-1)?.day !== day) days.push({ day, runs: new Map() })
    const { runs } = days.at(-1)!
    let run = runs.get(eventName)
    if (run === undefined) {
      run = { times: [], users: [], codes: properties.map(() => []) }
      runs.set(eventName, run)
    }
    return run
  }

  return {
    add({ eventTimeMs, userId, eventName, sessionId, properties: text }: ColumnEvent): void {
      const parsed: unknown = needsProperties ? JSON.parse(text) : undefined
      const valueOf = (path: string) =>
        path === SESSION_ID_PATH ? sessionId : propertyAt(parsed, path)
      const owner = countBy === null ? userId : valueOf(countBy)
      if (owner === null) return
      const ownerText = textOf(owner)
      if (countBy !== null && !isSampledText(ownerText, sample)) return
      const day = dayOf(eventTimeMs)
      const run = runOf(day, eventName)
      run.times.push(eventTimeMs - day * DAY_MS)
      let user = userNumbers.get(ownerText)
      if (user === undefined) userNumbers.set(ownerText, (user = userNumbers.size))
      run.users.push(user)
      dictionaries.forEach(({ property, dictionary }, index) =>
        run.codes[index]!.push(dictionary.codeOf(valueOf(property))),
      )
    },

    build(): GroupRuns {
      const built = (eventName: string, { times, users, codes }: OpenRun): Run => ({
        eventName,
        rowCount: times.length,
        timeMs: Uint32Array.from(times),
        user: Uint32Array.from(users),
        properties: new Map(
          dictionaries.map(({ property, dictionary: { values } }, index) => [
            property,
            { codes: Uint32Array.from(codes[index]!), values },
          ]),
        ),
      })
      return {
        userCount: userNumbers.size,
        userIds: [...userNumbers.keys()],
        days: days.map(({ day, runs }) => ({
          day,
          runs: [...runs].map(([eventName, run]) => built(eventName, run)),
        })),
      }
    },
  }
}

interface OpenRun {
  readonly times: number[]
  readonly users: number[]
  /** By property asked about. */
  readonly codes: readonly number[][]
}
