import { afterAll, afterEach, expect } from 'vitest'

/**
 * Returns a collector for what Cassandra says beside its results. Any such warning fails the test that
 * met it. Call it at the top of a test file.
 */
export function failOnWarnings(): (warning: string) => void {
  const warnings: string[] = []
  // A few of them: hundreds of the same kind would hide everything else.
  const expectNone = () =>
    expect(warnings.splice(0).slice(0, 3), 'warnings of Cassandra').toEqual([])
  afterEach(expectNone)
  afterAll(expectNone)
  return (warning) => void warnings.push(warning)
}
