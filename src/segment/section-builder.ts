import { forEachProperty } from '../event/property.ts'
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

export type SectionBuilder = ReturnType<typeof openSectionBuilder>

/** Gathers events of one name and UTC day, in any order, into the rows of a section. */
export function openSectionBuilder(eventName: string, day: number) {
  const userNumbers: number[] = []
  const times: number[] = []
  const ids: number[] = []
  const properties = new Map<string, BuiltProperty>()
  let isCut = false

  function propertyOf(path: string): BuiltProperty | null {
    let property = properties.get(path)
    if (property === undefined) {
      if (properties.size === PROPERTIES_MAX) {
        isCut = true
        return null
      }
      property = { dictionary: openDictionary(), rows: [], codes: [] }
      properties.set(path, property)
    }
    return property
  }

  return {
    /** `timeMs` is of the day; `properties` is the JSON text of the event. */
    add(event: {
      readonly userNumber: number
      readonly timeMs: number
      readonly id: Uint32Array
      readonly properties: string
    }): void {
      const row = userNumbers.length
      userNumbers.push(event.userNumber)
      times.push(event.timeMs)
      ids.push(event.id[0]!, event.id[1]!)
      if (event.properties === '{}') return
      const parsed = JSON.parse(event.properties) as Record<string, unknown>
      const isAnyLeftOut = forEachProperty(parsed, (path, value) => {
        const property = propertyOf(path)
        if (property === null) return
        property.rows.push(row)
        property.codes.push(property.dictionary.codeOf(value))
      })
      isCut ||= isAnyLeftOut
    },

    build(): SectionRows {
      const rowCount = userNumbers.length
      const filled = [...properties].map(([path, { dictionary, rows, codes }]) => {
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
