import { describe, expect, test } from 'vitest'
import { dayOf } from '../../src/event/day.ts'
import { RETENTION_DAYS_MAX } from '../../src/wire/project.ts'
import { openTestKeyspace } from '../support/keyspace.ts'
import { collect } from '../support/rows.ts'

const { session, stores, keyspace } = await openTestKeyspace()
const { eventNames, propertyNames, eventCounts, eventBuckets } = stores

describe('event names', () => {
  test('the widest span stays, in whatever order it was told', async () => {
    const spans = [
      [500, 600],
      [100, 200],
      [900, 900],
      [100, 900],
      [300, 400],
    ] as const
    for (const [index, order] of [spans, spans.toReversed(), spans.toSorted()].entries()) {
      const projectId = `span ${index}`
      for (const [firstSeenMs, lastSeenMs] of order)
        await eventNames.widen(projectId, { eventName: 'e', firstSeenMs, lastSeenMs })
      expect(await eventNames.list(projectId)).toEqual([
        { eventName: 'e', firstSeenMs: 100, lastSeenMs: 900 },
      ])
    }
  })

  test('a span told by many at once is the widest', async () => {
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => {
        const seenMs = 1_000 + ((index * 37) % 100)
        const span = { eventName: 'e', firstSeenMs: seenMs, lastSeenMs: seenMs }
        return eventNames.widen('at once', span)
      }),
    )
    expect(await eventNames.list('at once')).toEqual([
      { eventName: 'e', firstSeenMs: 1_000, lastSeenMs: 1_099 },
    ])
  })

  test('2,000 names are listed in the order of their text', async () => {
    const names = Array.from({ length: 2_000 }, (_, index) => `name ${(index * 7) % 2_000}`)
    for (let start = 0; start < names.length; start += 100)
      await Promise.all(
        names
          .slice(start, start + 100)
          .map((eventName) =>
            eventNames.widen('many', { eventName, firstSeenMs: 1, lastSeenMs: 1 }),
          ),
      )
    const listed = (await eventNames.list('many')).map(({ eventName }) => eventName)
    expect(listed).toEqual(names.toSorted())
  })
})

describe('property names', () => {
  test('a property is listed once a type, in the order of its text', async () => {
    for (const property of ['b', 'a.c', 'a', 'b'])
      for (const type of ['string', 'number'] as const)
        await propertyNames.add('p', 'e', { property, type })
    expect(await propertyNames.list('p', 'e')).toEqual(
      ['a', 'a.c', 'b'].flatMap((property) => [
        { property, type: 'number' },
        { property, type: 'string' },
      ]),
    )
    expect(await propertyNames.list('p', 'f')).toEqual([])
  })

  test.each(['__proto__', 'a\u0000b', '😀', 'x'.repeat(256)])('%j is a name', async (property) => {
    await propertyNames.add('odd', property, { property, type: 'boolean' })
    expect(await propertyNames.list('odd', property)).toEqual([{ property, type: 'boolean' }])
  })
})

describe('counts', () => {
  test('of a minute add up; those of a day are listed by minute', async () => {
    const key = { projectId: 'p', eventName: 'e', day: 20_000 }
    for (const [minute, count] of [
      [1_439, 1],
      [0, 2],
      [7, 3],
      [0, 40],
    ] as const)
      await eventCounts.add({ ...key, minute, count })
    expect(await eventCounts.read('p', 'e', 20_000)).toEqual([
      { ...key, minute: 0, count: 42 },
      { ...key, minute: 7, count: 3 },
      { ...key, minute: 1_439, count: 1 },
    ])
    expect(await eventCounts.read('p', 'e', 20_001)).toEqual([])
  })

  test('told at once are all added', async () => {
    const minute = { projectId: 'p', eventName: 'at once', day: 1, minute: 1 }
    await Promise.all(Array.from({ length: 200 }, () => eventCounts.add({ ...minute, count: 1 })))
    expect(await eventCounts.read('p', 'at once', 1)).toEqual([{ ...minute, count: 200 }])
  })
})

describe('buckets', () => {
  const today = dayOf(Date.now())
  const listOf = async (...range: Parameters<typeof eventBuckets.list>) =>
    (await collect(eventBuckets.list(...range))).flatMap(({ bucketDays }) => bucketDays)

  test('of several months are listed by day and bucket, the bounds included', async () => {
    const days = [today - 62, today - 31, today - 1, today]
    const bucketDays = days.flatMap((day) => [
      { day, bucket: 999 },
      { day, bucket: 0 },
    ])
    await eventBuckets.add('months', bucketDays)
    await eventBuckets.add('months', bucketDays)
    const listed = await listOf('months', today - 62, today)
    expect(listed).toEqual(
      days.flatMap((day) => [
        { day, bucket: 0 },
        { day, bucket: 999 },
      ]),
    )
    expect(await listOf('months', today - 31, today - 1)).toHaveLength(4)
    expect(await listOf('months', today + 1, today + 60)).toEqual([])
  })

  test('of a month of 10,000 are all listed', async () => {
    const firstDay = today - 40
    const bucketDays = Array.from({ length: 10_000 }, (_, index) => ({
      ...{ bucket: index % 1_000, day: firstDay + Math.floor(index / 1_000) },
    }))
    await eventBuckets.add('many', bucketDays)
    expect(await listOf('many', firstDay, firstDay + 9)).toEqual(bucketDays)
  })

  test('are kept over the longest retention', async () => {
    const bucketDays = [
      { day: today - 3_998, bucket: 1 },
      { day: today + 1, bucket: 1 },
    ]
    await eventBuckets.add('long', bucketDays)
    expect(await listOf('long', today - 4_000, today + 2)).toEqual(bucketDays)
  })

  test('outlive every event of their day, whatever the retention becomes', async () => {
    await eventBuckets.add('ttl', [{ day: today, bucket: 1 }])
    const cql = `SELECT default_time_to_live AS ttl FROM system_schema.tables
      WHERE keyspace_name = ? AND table_name = 'event_buckets'`
    const [row] = await session.execute({ table: 'event_buckets', operation: 'n', cql }, [keyspace])
    expect(row!['ttl']).toBeGreaterThan((RETENTION_DAYS_MAX + 2) * 86_400)
  })
})
