import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Migration {
  readonly version: number
  /** The file's name without its ending: `0002_events`. */
  readonly name: string
  /** The one table that it makes or changes. */
  readonly table: string
  readonly statements: readonly string[]
  /** SHA-256 of the statements; comments and white space may be mended without changing it. */
  readonly checksum: string
}

const FILE = /^(\d{4})_([a-z_]+)\.cql$/

/** Loads the migrations of a folder, in the order of their versions. */
export function loadMigrations(folder: string): Migration[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.cql'))
    .sort()
    .map((file) => {
      const match = FILE.exec(file)
      if (match === null) throw new Error(`cql/${file}: name it NNNN_<table>.cql`)
      const text = readFileSync(join(folder, file), 'utf8')
      const statements = statementsOf(text)
      return {
        version: Number(match[1]),
        name: file.slice(0, -'.cql'.length),
        table: match[2]!,
        statements,
        checksum: createHash('sha256').update(statements.join(';')).digest('hex'),
      }
    })
}

function statementsOf(text: string): string[] {
  return text
    .replace(/--.*$/gm, '')
    .split(';')
    .map((statement) => statement.replace(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '')
}
