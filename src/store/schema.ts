import type { types } from 'cassandra-driver'
import { appliedMigrations } from './migrate.ts'
import type { Session, Statement } from './session.ts'

const COLUMNS: Statement = {
  table: 'system_schema.columns',
  operation: 'read',
  cql: `SELECT column_name, kind, position, type, clustering_order FROM system_schema.columns
    WHERE keyspace_name = ? AND table_name = ?`,
}
const OPTIONS: Statement = {
  table: 'system_schema.tables',
  operation: 'read',
  cql: `SELECT compaction, compression, default_time_to_live FROM system_schema.tables
    WHERE keyspace_name = ? AND table_name = ?`,
}
const TABLES: Statement = {
  table: 'system_schema.tables',
  operation: 'list',
  cql: 'SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?',
}

/**
 * Returns a table as Cassandra has it, as JSON with sorted fields: columns with kind, place and type,
 * and the options that migrations set. `{}` when there is no such table.
 */
export async function liveTable(session: Session, keyspace: string, table: string) {
  const [options] = await session.execute(OPTIONS, [keyspace, table])
  if (options === undefined) return '{}'
  const described: Record<string, unknown> = {
    'option compaction': sorted(options['compaction']),
    'option compression': sorted(options['compression']),
    'option default_time_to_live': options['default_time_to_live'],
  }
  for (const row of await session.all(COLUMNS, [keyspace, table]))
    described[`column ${String(row['column_name'])}`] = columnOf(row)
  return JSON.stringify(sorted(described))
}

function columnOf(row: types.Row): string {
  const order = row['clustering_order'] === 'none' ? '' : ` ${String(row['clustering_order'])}`
  const position = (row['position'] as number) < 0 ? '' : ` ${String(row['position'])}`
  return `${String(row['type'])} ${String(row['kind'])}${position}${order}`
}

function sorted(object: unknown): Record<string, unknown> {
  const entries = Object.entries((object ?? {}) as Record<string, unknown>)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * Compares the live schema with what the migrations left. Returns one sentence a difference; none when
 * all is as it was.
 */
export async function schemaDrift(session: Session, keyspace: string): Promise<string[]> {
  const expected = new Map<string, string>()
  for (const { name, tableSchema } of await appliedMigrations(session))
    expected.set(name.slice('0000_'.length), tableSchema)
  const drift: string[] = []
  for (const [table, schema] of expected)
    drift.push(...differences(table, schema, await liveTable(session, keyspace, table)))
  for (const row of await session.all(TABLES, [keyspace])) {
    const table = row['table_name'] as string
    if (!expected.has(table)) drift.push(`table ${table}: no migration made it`)
  }
  return drift
}

function differences(table: string, expected: string, live: string): string[] {
  if (live === expected) return []
  if (live === '{}') return [`table ${table}: it is missing`]
  const was = JSON.parse(expected) as Record<string, unknown>
  const is = JSON.parse(live) as Record<string, unknown>
  return [...new Set([...Object.keys(was), ...Object.keys(is)])].flatMap((part) => {
    const [a, b] = [was, is].map((schema) => JSON.stringify(schema[part]) ?? 'nothing')
    return a === b ? [] : [`table ${table}: ${part} is ${b}, the migration left ${a}`]
  })
}
