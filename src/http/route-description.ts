import type { ErrorCode } from '../error.ts'
import type { SchemaName } from '../wire/schemas.ts'

export type KeyKind = 'write' | 'read' | 'erase' | 'admin'

/** What is said of one route; the rest follows. */
export interface RouteDescription {
  readonly id: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly key?: KeyKind
  readonly parameters?: readonly object[]
  readonly body?: SchemaName
  /** Status, what it means, and the schemas and media types that it brings. */
  readonly answers: readonly (readonly [
    number,
    string,
    ...(SchemaName | `${string}/${string}`)[],
  ])[]
  /** Beyond those that the key and the body bring. */
  readonly errors?: readonly ErrorCode[]
}

/** A parameter of the path. */
export const inPath = (name: string) => ({
  name,
  in: 'path',
  required: true,
  schema: { type: 'string', minLength: 1 },
})

/** A parameter of the address. */
export const inQuery = (name: string, description: string, schema: object) => ({
  name,
  in: 'query',
  description,
  schema,
})
