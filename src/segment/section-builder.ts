import { forEachProperty } from '../event/property.ts'
import { SESSION_ID_PATH } from './columns.ts'
import type { Value } from './columns.ts'
import { openDictionary } from './dictionary.ts'
import type { RowsProperty, SectionRows } from './section.ts'

/** Above it, further properties of a name are left out while a section is built: bounds its memory. */
const PROPERTIES_MAX = 1_000

interface BuiltProperty {
  readonly dictionary: ReturnType<typeof openDictionary>
  /** Rows that have the property, and their codes. */
  readonly rows: number[]
  readonly codes: number[]
}

function emptyProperty(): BuiltProperty {
  return { dictionary: openDictionary(), rows: [], codes: [] }
}

export type SectionBuilder = ReturnType<typeof openSectionBuilder>

/** Gathers events of one name and UTC day, in any order, into the rows of a section. */
export function openSectionBuilder(eventName: string, day: number) {
  const userNumbers: number[] = []
  const times: number[] = []
  const ids: number[] = []
  const properties = new Map<string, BuiltProperty>()
  const sessions = emptyProperty()
  let isCut = false

  function propertyOf(path: string): BuiltProperty | null {
    let property = properties.get(path)
    if (property === undefined) {
      if (properties.size === PROPERTIES_MAX) {
        isCut = true
        return null
      }
      property = emptyProperty()
      properties.set(path, property)
    }
    return property
  }

  function addValue({ dictionary, rows, codes }: BuiltProperty, row: number, value: Value): void {
    rows.push(row)
    codes.push(dictionary.codeOf(value))
  }

  return {
    /** `timeMs` is of the day; `properties` is the JSON text of the event. */
    add(event: {
      readonly userNumber: number
      readonly timeMs: number
      readonly id: Uint32Array
      readonly sessionId: string | null
      readonly properties: string
    }): void {
      const row = userNumbers.length
      userNumbers.push(event.userNumber)
      times.push(event.timeMs)
      ids.push(event.id[0]!, event.id[1]!)
      if (event.sessionId !== null) addValue(sessions, row, event.sessionId)
      if (event.properties === '{}') return
      const parsed = JSON.parse(event.properties) as Record<string, unknown>
      const isAnyLeftOut = forEachProperty(parsed, (path, value) => {
        const property = propertyOf(path)
        if (property !== null) addValue(property, row, value)
      })
      isCut ||= isAnyLeftOut
    },

    build(): SectionRows {
      const rowCount = userNumbers.length
      const all = new Map(properties)
      if (sessions.rows.length > 0) all.set(SESSION_ID_PATH, sessions)
      const filled = [...all].map(([path, { dictionary, rows, codes }]) => {
        const byRow = new Uint32Array(rowCount)
        for (let at = 0; at < rows.length; at++) byRow[rows[at]!] = codes[at]!
        const property: RowsProperty = { codes: byRow, values: dictionary.values }
        return [path, property] as const
      })
      return {
        ...{ eventName, day, rowCount, isCut },
        userNumber: Uint32Array.from(userNumbers),
        timeMs: Uint32Array.from(times),
        ids: Uint32Array.from(ids),
        properties: new Map(filled),
      }
    },
  }
}
