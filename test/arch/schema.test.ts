import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadMigrations } from '../../src/store/migrations.ts'
import { read, ROOT, sourcesOf } from '../support/sources.ts'

const HEAD = [
  ...['Question', 'Writes', 'Reads', 'Retention', 'Consistency', 'Row', 'Largest partition'],
  'Resend',
]
/** Looked up before the project is known, or of no project. */
const NOT_BY_PROJECT = ['keys', 'writer_heads', 'schema_migrations']
/** Tables with a row an event, or one that lives as long as the rows of events. */
const ROW_TABLES = ['events', 'user_timeline', 'event_buckets']
const WINDOWS_MAX = 30
const RETENTION_DAYS_MAX = 4_000
const DAY_S = 86_400

const migrations = loadMigrations(join(ROOT, 'cql'))
const tables = migrations.filter(({ statements }) => /^CREATE TABLE/i.test(statements[0] ?? ''))
const textOf = (table: string) =>
  migrations
    .filter((migration) => migration.table === table)
    .flatMap(({ statements }) => statements)
    .join('; ')

describe('a migration', () => {
  test('is numbered after the one before', () => {
    const versions = migrations.map(({ version }) => version)
    expect(versions).toEqual(migrations.map((_, index) => index + 1))
  })

  test.each(migrations)('$name says at its head what it answers and what it costs', ({ name }) => {
    const text = read(`cql/${name}.cql`)
    const head = text.slice(0, text.search(/^[^-\s]/m))
    const said = HEAD.filter((part) => new RegExp(`^-- ${part}: \\S`, 'm').test(head))
    expect(said).toEqual(HEAD)
  })

  test.each(migrations)('$name makes or changes its one table', ({ table, statements }) => {
    const own = new RegExp(`^(CREATE TABLE IF NOT EXISTS|ALTER TABLE) ${table}\\b`)
    expect(statements.length).toBeGreaterThan(0)
    expect(statements.filter((statement) => !own.test(statement))).toEqual([])
  })

  test('makes each table once', () => {
    expect(tables.map(({ table }) => table)).toEqual([...new Set(tables.map(({ table }) => table))])
  })

  test('makes no index and no view', () => {
    const made = migrations.flatMap(({ statements }) => statements)
    expect(made.filter((cql) => /\b(INDEX|MATERIALIZED|VIEW)\b/i.test(cql))).toEqual([])
  })
})

describe('a table', () => {
  test.each(tables)('$table begins its partition key with the project', ({ table }) => {
    const [, first] = /PRIMARY KEY \(\((\w+)/.exec(textOf(table)) ?? []
    expect(first).toBeDefined()
    if (!NOT_BY_PROJECT.includes(table)) expect(first).toBe('project')
  })

  test.each(ROW_TABLES)('%s is kept in few windows, whatever the retention', (table) => {
    const text = textOf(table)
    const days = /'compaction_window_unit': 'DAYS', 'compaction_window_size': (\d+)/.exec(text)
    expect(text).toContain("'class': 'TimeWindowCompactionStrategy'")
    const lifeDays = Number(/default_time_to_live = (\d+)/.exec(text)![1]) / DAY_S
    expect(lifeDays).toBeGreaterThanOrEqual(RETENTION_DAYS_MAX)
    expect(lifeDays / Number(days![1])).toBeLessThanOrEqual(WINDOWS_MAX)
  })

  test.each(tables)('$table names how it is compacted', ({ table }) => {
    expect(textOf(table)).toMatch(
      /'class': '(TimeWindowCompactionStrategy|UnifiedCompactionStrategy)'/,
    )
  })
})

describe('a statement of ours', () => {
  // The doctor asks one such question to see it refused.
  const files = sourcesOf('src').filter((file) => file !== 'store/server-facts.ts')
  const placesOf = (pattern: RegExp) =>
    files.filter((file) => file !== 'upkeep/doctor.ts' && pattern.test(read(`src/${file}`)))

  test('filters nothing and names its columns', () => {
    expect(placesOf(/\bALLOW\s+FILTERING\b/i)).toEqual([])
    expect(placesOf(/\bSELECT\s+\*/i)).toEqual([])
  })

  test('groups and counts nothing in the database', () => {
    expect(placesOf(/\bGROUP\s+BY\b|\bSELECT\s+COUNT\s*\(/i)).toEqual([])
  })

  test('is in no logged batch', () => {
    expect(placesOf(/\bBEGIN\s+(?!UNLOGGED)(\w+\s+)?BATCH\b/i)).toEqual([])
    const session = read('src/store/session.ts')
    const batches = session.match(/\bclient\.batch\(/g) ?? []
    expect(session.match(/\blogged: false\b/g)).toHaveLength(batches.length)
    expect(placesOf(/\bclient\.batch\(/)).toEqual(['store/session.ts'])
  })
})
