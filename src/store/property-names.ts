import type { Session, Statement } from './session.ts'

const INSERT: Statement = {
  table: 'property_names',
  operation: 'add',
  cql: 'INSERT INTO property_names (project, event, property, type) VALUES (?, ?, ?, ?)',
}
const LIST: Statement = {
  table: 'property_names',
  operation: 'list',
  cql: 'SELECT property, type FROM property_names WHERE project = ? AND event = ?',
}

export type PropertyType = 'string' | 'number' | 'boolean'

export interface PropertyName {
  /** Dotted path. */
  readonly property: string
  readonly type: PropertyType
}

export type PropertyNames = ReturnType<typeof openPropertyNames>

/** Which properties the events of a name have, and of what types. */
export function openPropertyNames(session: Session) {
  return {
    async add(projectId: string, eventName: string, { property, type }: PropertyName) {
      await session.execute(INSERT, [projectId, eventName, property, type])
    },

    /** Returns one entry a property and type, in the order of the property's text. */
    async list(projectId: string, eventName: string): Promise<PropertyName[]> {
      const rows = await session.all(LIST, [projectId, eventName])
      return rows.map((row) => ({
        property: row['property'] as string,
        type: row['type'] as PropertyType,
      }))
    },
  }
}
