import { describe, expect, test } from 'vitest'
import { AppError, type ErrorCode } from '../../../src/error.ts'
import { isPassing, untilStored } from '../../../src/store/retry.ts'

const away = (message = 'away') => new AppError('STORE_UNAVAILABLE', message)

/** Tries work that fails with these errors, one after the other, and then succeeds. */
function trying(errors: readonly unknown[], signal = new AbortController().signal) {
  const failed: unknown[] = []
  let retries = 0
  const work = () => {
    if (failed.length === errors.length) return Promise.resolve('stored')
    failed.push(errors[failed.length])
    return Promise.reject(failed.at(-1) as Error)
  }
  const done = untilStored(work, { signal, onRetry: () => retries++ })
  return { done, failures: () => failed.length, retries: () => retries }
}

describe('what is to be stored', () => {
  test('is tried once where that succeeds', async () => {
    const { done, retries } = trying([])
    expect(await done).toBe('stored')
    expect(retries()).toBe(0)
  })

  test('is tried again while Cassandra is away or overloaded', async () => {
    const { done, failures, retries } = trying([away(), new AppError('OVERLOADED', 'slow'), away()])
    expect(await done).toBe('stored')
    expect([failures(), retries()]).toEqual([3, 3])
  })

  test.each([
    new Error('a bug'),
    new AppError('SCHEMA_OUTDATED', 'old'),
    new AppError('INTERNAL', 'x'),
    'no error at all',
  ])('is not tried again after %s', async (error) => {
    const { done, failures, retries } = trying([error, away()])
    await expect(done).rejects.toBe(error)
    expect([failures(), retries()]).toEqual([1, 0])
  })

  test('is given up on an error that does not pass, after some that do', async () => {
    const bug = new Error('a bug')
    const { done, retries } = trying([away(), bug])
    await expect(done).rejects.toBe(bug)
    expect(retries()).toBe(1)
  })

  test('is tried once even where the trying has ended', async () => {
    const last = away()
    const { done, failures } = trying([last, away()], AbortSignal.abort())
    await expect(done).rejects.toBe(last)
    expect(failures()).toBe(1)
    expect(await trying([], AbortSignal.abort()).done).toBe('stored')
  })

  test('is given up with the last error when the trying ends', async () => {
    const errors = [away('first'), away('second'), away('third')]
    const end = new AbortController()
    let retries = 0
    const onRetry = () => {
      retries++
      if (retries === 2) end.abort()
    }
    let failures = 0
    const work = () => Promise.reject(errors[failures++]!)
    await expect(untilStored(work, { signal: end.signal, onRetry })).rejects.toBe(errors[2])
    expect([failures, retries]).toEqual([3, 2])
  })
})

test.each<[ErrorCode, boolean]>([
  ['OVERLOADED', true],
  ['STORE_UNAVAILABLE', true],
  ['SCHEMA_OUTDATED', false],
  ['INTERNAL', false],
  ['CONFLICT', false],
])('%s passes by itself: %s', (code, passes) => {
  expect(isPassing(new AppError(code, ''))).toBe(passes)
})
