import type { CodedColumn, DayRuns, Run, Value } from '../../src/segment/columns.ts'

const DAY_MS = 86_400_000

/** An event as tests write it; `properties` by dotted path. */
export interface TestEvent {
  readonly user: string
  readonly event: string
  readonly timeMs: number
  readonly properties?: Readonly<Record<string, Value>>
  /** Events of one name, day and part share a run. 0 where it is not said. */
  readonly part?: number
}

/**
 * Returns events as the days of one fold group, in ascending order. A run has a column for each of its name's `paths`
 * that any of its events has. Runs are in the order of their first event, and sorted by time only, so that
 * events of equal time stay in the order given. `users` names the positions.
 */
export function daysOf(
  events: readonly TestEvent[],
  pathsOf: (eventName: string) => readonly string[],
  users: readonly string[],
): DayRuns[] {
  const byDay = grouped(events, ({ timeMs }) => Math.floor(timeMs / DAY_MS))
  return [...byDay]
    .toSorted(([a], [b]) => a - b)
    .map(([day, ofDay]) => ({
      day,
      runs: [...grouped(ofDay, ({ event, part = 0 }) => `${part} ${event}`).values()].map((ofRun) =>
        runOf(ofRun, day, pathsOf(ofRun[0]!.event), users),
      ),
    }))
}

function runOf(
  events: readonly TestEvent[],
  day: number,
  paths: readonly string[],
  users: readonly string[],
): Run {
  const sorted = events.toSorted((a, b) => a.timeMs - b.timeMs)
  const present = paths.filter((path) =>
    events.some(({ properties }) => path in (properties ?? {})),
  )
  const columns = present.map((path) => {
    const cells = sorted.map(({ properties }) => properties?.[path] ?? null)
    return [path, codedColumn(cells)] as const
  })
  return {
    eventName: events[0]!.event,
    rowCount: sorted.length,
    timeMs: Uint32Array.from(sorted, ({ timeMs }) => timeMs - day * DAY_MS),
    user: Uint16Array.from(sorted, ({ user }) => users.indexOf(user)),
    properties: new Map(columns),
  }
}

function grouped<Key>(
  events: readonly TestEvent[],
  keyOf: (event: TestEvent) => Key,
): Map<Key, TestEvent[]> {
  const groups = new Map<Key, TestEvent[]>()
  for (const event of events) {
    const group = groups.get(keyOf(event))
    if (group === undefined) groups.set(keyOf(event), [event])
    else group.push(event)
  }
  return groups
}

function codedColumn(cells: readonly (Value | null)[]): CodedColumn {
  const values = [...new Set([null, ...cells])]
  const codeOf = new Map(values.map((value, code) => [value, code]))
  const codes = cells.map((cell) => codeOf.get(cell)!)
  return { codes: values.length > 256 ? Uint16Array.from(codes) : Uint8Array.from(codes), values }
}
