import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { inOrder } from '../../src/seal/user-lists.ts'
import type { ListedUser } from '../../src/segment/user-list.ts'

/** Numbers of no two lists are equal; each list comes in parts, some of them empty. */
const lists = fc
  .uniqueArray(fc.nat(10_000), { maxLength: 300 })
  .chain((numbers) =>
    fc.record({
      numbers: fc.constant(numbers),
      owners: fc.array(fc.nat(6), { minLength: numbers.length, maxLength: numbers.length }),
      partSize: fc.integer({ min: 1, max: 50 }),
    }),
  )
  .map(({ numbers, owners, partSize }) => {
    const users = numbers.map((userNumber) => ({ userNumber, userId: `u${userNumber}` }))
    return Array.from({ length: 7 }, (_, owner) =>
      partsOf(
        users
          .filter((_user, index) => owners[index] === owner)
          .sort((a, b) => a.userNumber - b.userNumber),
        partSize,
      ),
    )
  })

function partsOf(users: readonly ListedUser[], size: number): ListedUser[][] {
  const parts: ListedUser[][] = [[]]
  for (let from = 0; from < users.length; from += size) parts.push(users.slice(from, from + size))
  return parts
}

async function* oneByOne<T>(items: readonly T[]): AsyncGenerator<T> {
  for (const item of items) yield await Promise.resolve(item)
}

describe('lists of users that are read as one', () => {
  test('have all users, in the order of their numbers', async () => {
    await fc.assert(
      fc.asyncProperty(lists, async (given) => {
        const found: ListedUser[] = []
        for await (const part of inOrder(given.map(oneByOne))) found.push(...part)
        const expected = given.flat(2).sort((a, b) => a.userNumber - b.userNumber)
        expect(found).toEqual(expected)
      }),
    )
  })

  test('are read on only where what was read of them is used up', async () => {
    const read = [0, 0]
    async function* counted(list: number, users: readonly ListedUser[]) {
      for (const user of users) {
        read[list]!++
        yield await Promise.resolve([user])
      }
    }
    const users = (first: number) =>
      Array.from({ length: 100 }, (_, index) => ({ userNumber: first + index, userId: '' }))
    for await (const part of inOrder([counted(0, users(0)), counted(1, users(1_000))]))
      if (part[0]!.userNumber === 50) break
    expect(read).toEqual([51, 1])
  })
})
