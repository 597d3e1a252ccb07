import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openUserGuard } from '../../src/ingest/user-guard.ts'

const sent = fc.record({
  projectId: fc.constantFrom('shop', 'blog'),
  userId: fc.oneof(fc.constantFrom('a', 'b', 'ab'), fc.string({ maxLength: 3 })),
  day: fc.integer({ min: 20_000, max: 20_002 }),
})

describe('the user guard', () => {
  test('refuses nobody who has not had all its events of that day', () => {
    fc.assert(
      fc.property(
        fc.array(sent, { maxLength: 300 }),
        fc.integer({ min: 1, max: 8 }),
        (all, max) => {
          const guard = openUserGuard(max)
          const admitted = new Map<string, number>()
          for (const { projectId, userId, day } of all) {
            const key = JSON.stringify([projectId, userId, day])
            const before = admitted.get(key) ?? 0
            if (guard.admit(projectId, userId, day)) admitted.set(key, before + 1)
            else expect(before).toBeGreaterThanOrEqual(max)
          }
        },
      ),
      { numRuns: 50 },
    )
  })

  test('refuses nobody below the limit, however many there are', () => {
    const guard = openUserGuard(2)
    let refused = 0
    for (let round = 0; round < 2; round++)
      for (let user = 0; user < 300_000; user++)
        if (!guard.admit('shop', `user-${user}`, 20_000)) refused++
    expect(refused).toBe(0)
  })

  test('refuses a user alone after exactly its events', () => {
    const guard = openUserGuard(50)
    const admitted = Array.from({ length: 60 }, () => guard.admit('shop', 'bot', 20_000))
    expect(admitted.lastIndexOf(true)).toBe(49)
    expect(admitted.filter((one) => one)).toHaveLength(50)
  })

  test('an event that was withdrawn is as if it had not come', () => {
    const guard = openUserGuard(50)
    for (let round = 0; round < 40; round++) {
      for (let event = 0; event < 50; event++)
        expect(guard.admit('shop', 'resender', 20_000)).toBe(true)
      for (let event = 0; event < 50; event++) guard.withdraw('shop', 'resender', 20_000)
    }
    guard.withdraw('shop', 'resender', 20_000)
    expect(guard.admit('shop', 'resender', 20_000)).toBe(true)
  })

  test('counts each project, user and day by itself', () => {
    const guard = openUserGuard(1)
    const keys: readonly [string, string, number][] = [
      ['shop', 'a', 20_000],
      ['blog', 'a', 20_000],
      ['shop', 'b', 20_000],
      ['shop', 'a', 20_001],
      ['shopa', '', 20_000],
      ['sho', 'pa', 20_000],
    ]
    expect(keys.map((key) => guard.admit(...key))).toEqual(keys.map(() => true))
    expect(keys.map((key) => guard.admit(...key))).toEqual(keys.map(() => false))
  })

  test('refuses a hot user soon, in a crowd of others', () => {
    const guard = openUserGuard(100)
    let admitted = 0
    for (let index = 0; index < 50_000; index++) {
      if (guard.admit('shop', 'bot', 20_000)) admitted++
      guard.admit('shop', `user-${index}`, 20_000)
    }
    expect(admitted).toBeGreaterThanOrEqual(100)
    expect(admitted).toBeLessThan(200)
  })
})
