import { propertyAt } from '../event/property.ts'
import type { CodedColumn, Columns, Value } from '../segment/columns.ts'

/** One event on its way into columns. `properties` is JSON text, or empty when none are asked about. */
export interface ColumnEvent {
  readonly eventTimeMs: number
  readonly userId: string
  readonly eventName: string
  readonly properties: string
}

/**
 * Builds the columns of one fold group from events in time order. Users are numbered in the order of
 * their first event.
 */
export function openColumnBuilder(properties: readonly string[]) {
  const times: number[] = []
  const users: number[] = []
  const userNumbers = new Map<string, number>()
  const names = openDictionary()
  const columns = properties.map((property) => ({ property, dictionary: openDictionary() }))

  return {
    add({ eventTimeMs, userId, eventName, properties: text }: ColumnEvent): void {
      times.push(eventTimeMs)
      let user = userNumbers.get(userId)
      if (user === undefined) userNumbers.set(userId, (user = userNumbers.size))
      users.push(user)
      names.add(eventName)
      if (columns.length === 0) return
      const parsed: unknown = JSON.parse(text)
      for (const { property, dictionary } of columns) dictionary.add(propertyAt(parsed, property))
    },

    build(): { columns: Columns; userCount: number } {
      return {
        userCount: userNumbers.size,
        columns: {
          rowCount: times.length,
          timeMs: Float64Array.from(times),
          user: Uint32Array.from(users),
          event: names.build(),
          properties: new Map(
            columns.map(({ property, dictionary }) => [property, dictionary.build()]),
          ),
        },
      }
    },
  }
}

function openDictionary() {
  const codes: number[] = []
  const values: (Value | null)[] = [null]
  const codeOf = new Map<Value | null, number>([[null, 0]])
  return {
    add(value: Value | null): void {
      let code = codeOf.get(value)
      if (code === undefined) {
        codeOf.set(value, (code = values.length))
        values.push(value)
      }
      codes.push(code)
    },
    build: (): CodedColumn => ({ codes: Uint32Array.from(codes), values }),
  }
}
