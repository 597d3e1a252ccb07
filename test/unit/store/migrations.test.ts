import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadMigrations } from '../../../src/store/migrations.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'migrations-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true })
})

const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
function load(text: string) {
  write('0001_events.cql', text)
  return loadMigrations(folder)[0]!
}

describe('migrations', () => {
  test('are read in the order of their versions', () => {
    write('0010_keys.cql', 'CREATE TABLE keys (a int PRIMARY KEY);')
    write('0002_user_timeline.cql', 'ALTER TABLE user_timeline ADD b int;')
    write('notes.md', 'not one')
    expect(loadMigrations(folder)).toMatchObject([
      { version: 2, name: '0002_user_timeline', table: 'user_timeline' },
      { version: 10, name: '0010_keys', table: 'keys' },
    ])
  })

  test.each(['1_events.cql', '0001-events.cql', '0001_Events.cql', 'events.cql'])(
    'are not named %s',
    (name) => {
      write(name, '')
      expect(() => loadMigrations(folder)).toThrow(`cql/${name}: name it NNNN_<table>.cql`)
    },
  )
})

describe('the statements of a migration', () => {
  test('end with a semicolon, the last one with or without', () => {
    expect(load('CREATE TABLE a (b int);\nALTER TABLE a ADD c int').statements).toEqual([
      ...['CREATE TABLE a (b int)', 'ALTER TABLE a ADD c int'],
    ])
    expect(load(';;\n ; \n').statements).toEqual([])
  })

  test('are without comments, whatever these hold', () => {
    const text = `
      -- Question: what; and why?
      CREATE TABLE a ( -- one; two
        b int, -- it's 'quoted
        c int  -- last
      ); -- done;
    `
    expect(load(text).statements).toEqual(['CREATE TABLE a ( b int, c int )'])
  })
})

describe('the checksum of a migration', () => {
  const sumOf = (text: string) => load(text).checksum

  test('does not change with comments and white space', () => {
    const sum = sumOf('CREATE TABLE a (b int);')
    expect(sumOf('-- A new head.\nCREATE  TABLE a\n  (b int)')).toBe(sum)
    expect(sum).toMatch(/^[0-9a-f]{64}$/)
  })

  test('changes with anything else', () => {
    const sums = [
      'CREATE TABLE a (b int)',
      'CREATE TABLE a (b text)',
      'CREATE TABLE a (b int);X',
    ].map(sumOf)
    expect(new Set(sums).size).toBe(3)
  })
})
