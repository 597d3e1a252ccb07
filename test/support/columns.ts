import type { CodedColumn, Columns, Value } from '../../src/segment/columns.ts'

/** An event as tests write it; `properties` by dotted path. */
export interface TestEvent {
  readonly user: string
  readonly event: string
  readonly timeMs: number
  readonly properties?: Readonly<Record<string, Value>>
}

/**
 * Returns events as the columns of one fold group, with a column for each of `paths` that any event has.
 * Sorted by time only, so events of equal time stay in the order given. `users` names the positions.
 */
export function columnsOf(
  events: readonly TestEvent[],
  paths: readonly string[],
  users: readonly string[],
): Columns {
  const sorted = events.toSorted((a, b) => a.timeMs - b.timeMs)
  const present = paths.filter((path) =>
    events.some(({ properties }) => path in (properties ?? {})),
  )
  return {
    rowCount: sorted.length,
    timeMs: Float64Array.from(sorted, ({ timeMs }) => timeMs),
    user: Uint16Array.from(sorted, ({ user }) => users.indexOf(user)),
    event: codedColumn(sorted.map(({ event }) => event)),
    properties: new Map(
      present.map((path) => [
        path,
        codedColumn(sorted.map(({ properties }) => properties?.[path] ?? null)),
      ]),
    ),
  }
}

function codedColumn(cells: readonly (Value | null)[]): CodedColumn {
  const values = [...new Set([null, ...cells])]
  const codeOf = new Map(values.map((value, code) => [value, code]))
  const codes = cells.map((cell) => codeOf.get(cell)!)
  return { codes: values.length > 256 ? Uint16Array.from(codes) : Uint8Array.from(codes), values }
}
