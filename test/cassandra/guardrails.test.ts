import { expect, test } from 'vitest'
import { openTestKeyspace } from '../support/keyspace.ts'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/package-root.ts'

const { session } = await openTestKeyspace()
const statement = (cql: string) => ({ table: 'test', operation: 'test', cql })

test.each([
  ["SELECT project FROM projects WHERE name = '' ALLOW FILTERING", /ALLOW FILTERING/i],
  ["SELECT project FROM projects WHERE project IN ('a', 'b', 'c')", /partition keys/i],
  ["SELECT project, count(*) FROM writers WHERE project = 'a' GROUP BY writer", /group by/i],
  ['TRUNCATE events', /truncat/i],
])('the service is refused: %s', async (cql, reason) => {
  await expect(session.execute(statement(cql))).rejects.toThrow(reason)
})

test('the service is refused pages of more than 5,000 rows', async () => {
  const all = statement('SELECT project FROM projects')
  const page = (pageRowsMax: number) => session.page(all, [], { pageRowsMax, page: null })
  await expect(page(5_001)).rejects.toThrow(/page size/i)
  expect((await page(5_000)).rows).toEqual([])
})

test('the service is refused large batches over several partitions', async () => {
  const cql = 'INSERT INTO event_names (project, event) VALUES (?, ?)'
  const items = Array.from({ length: 2 }, (_, index) => ({
    cql,
    values: [`p${index}`, 'x'.repeat(30_000)],
  }))
  const key = Buffer.from('p0')
  await expect(session.batch(statement(cql), items, key)).rejects.toThrow(/batch too large/i)
})

test('no statement of the store filters, groups, or reads every column', () => {
  const folder = join(packageRoot(), 'src', 'store')
  for (const file of readdirSync(folder).filter((name) => name !== 'server-facts.ts')) {
    const text = readFileSync(join(folder, file), 'utf8')
    expect([file, /SELECT \*|ALLOW FILTERING'|GROUP BY|\bIN \(/.test(text)]).toEqual([file, false])
  }
})
