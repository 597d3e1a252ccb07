import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { BLOCK_BYTES_MAX, decodeBlock, encodeBlock } from '../../src/segment/block.ts'
import { anEvent } from '../support/an-event.ts'
import { openTestKeyspace } from '../support/keyspace.ts'
import { collect } from '../support/rows.ts'

const { session, stores } = await openTestKeyspace()
const { arrivals, writers, writerHeads } = stores

describe('arrivals', () => {
  test('a block comes back as it was written, and can be written again under its number', async () => {
    const writer = randomUUID()
    const events = [anEvent(), anEvent({ sentId: null, userId: '😀', properties: '{"a":1}' })]
    const arrival = { projectId: 'p', writer, sequence: 0, block: encodeBlock(events) }
    await arrivals.append(arrival)
    await arrivals.append(arrival)
    const [read, ...rest] = await collect(arrivals.readPage('p', writer, 0))
    expect([read!.sequence, rest]).toEqual([0, []])
    expect(decodeBlock(read!.block)).toEqual(events)
  })

  test('a page of 256 is read in order from any number, and holds no more', async () => {
    const writer = randomUUID()
    const append = (sequence: number) =>
      arrivals.append({ projectId: 'p', writer, sequence, block: Buffer.from(String(sequence)) })
    for (const sequence of [255, 256, 3, 17, 254, 0, 511]) await append(sequence)
    const from = async (sequence: number) =>
      (await collect(arrivals.readPage('p', writer, sequence))).map(({ sequence, block }) => {
        expect(String(block)).toBe(String(sequence))
        return sequence
      })
    expect(await from(0)).toEqual([0, 3, 17, 254, 255])
    expect(await from(17)).toEqual([17, 254, 255])
    expect(await from(18)).toEqual([254, 255])
    expect(await from(256)).toEqual([256, 511])
    expect(await from(512)).toEqual([])
  })

  test('a whole page of the largest blocks is read without a warning', async () => {
    const writer = randomUUID()
    const block = randomBytes(BLOCK_BYTES_MAX)
    for (let sequence = 0; sequence < 60; sequence++)
      await arrivals.append({ projectId: 'p', writer, sequence, block })
    const read = await collect(arrivals.readPage('p', writer, 0))
    expect(read.map(({ block }) => block.length)).toEqual(Array(60).fill(BLOCK_BYTES_MAX))
  })

  test('numbers beyond 2^31 keep their place', async () => {
    const writer = randomUUID()
    const sequence = 2 ** 40 + 5
    await arrivals.append({ projectId: 'p', writer, sequence, block: Buffer.from('x') })
    const [read] = await collect(arrivals.readPage('p', writer, sequence))
    expect(read!.sequence).toBe(sequence)
  })

  test('a block lives for 14 days', async () => {
    const writer = randomUUID()
    await arrivals.append({ projectId: 'ttl', writer, sequence: 0, block: Buffer.from('x') })
    const cql = `SELECT ttl(block) AS ttl FROM arrivals WHERE project = 'ttl' AND writer = ${writer}
      AND page = 0`
    const [row] = await session.execute({ table: 'arrivals', operation: 'ttl', cql })
    expect(row!['ttl']).toBeGreaterThan(14 * 86_400 - 60)
    expect(row!['ttl']).toBeLessThanOrEqual(14 * 86_400)
  })
})

test('a writer is announced once, however often it says so', async () => {
  const [a, b] = [randomUUID(), randomUUID()]
  for (const writer of [a, b, a]) await writers.announce('announced', writer, Date.now())
  expect((await writers.list('announced')).sort()).toEqual([a, b].sort())
  expect(await writers.list('nobody')).toEqual([])
})

describe('heads', () => {
  test('a beat replaces the one before, with all that it told', async () => {
    const writer = randomUUID()
    const head = (lastSequence: number) => ({ lastSequence, rowsWholeThrough: lastSequence - 1 })
    const first = {
      beat: 1,
      beatAtMs: 1_000,
      projects: new Map([
        ['a', head(0)],
        ['b', head(2 ** 40)],
      ]),
    }
    const second = { beat: 2, beatAtMs: 2_000, projects: new Map([['c', head(-1)]]) }
    await writerHeads.write(writer, first)
    expect(await writerHeads.read(writer)).toEqual(first)
    await writerHeads.write(writer, second)
    expect(await writerHeads.read(writer)).toEqual(second)
  })

  test('a writer of no projects beats too', async () => {
    const writer = randomUUID()
    const head = { beat: 1, beatAtMs: 1_000, projects: new Map() }
    await writerHeads.write(writer, head)
    expect(await writerHeads.read(writer)).toEqual(head)
  })

  test('1,000 beats leave nothing behind that a read would trip over', async () => {
    const writer = randomUUID()
    for (let beat = 1; beat <= 1_000; beat++)
      await writerHeads.write(writer, { beat, beatAtMs: beat, projects: new Map() })
    expect((await writerHeads.read(writer))!.beat).toBe(1_000)
  })

  test('a writer that never beat is null', async () => {
    expect(await writerHeads.read(randomUUID())).toBeNull()
  })
})
