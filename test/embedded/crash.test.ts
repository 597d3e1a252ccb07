import { expect, test } from 'vitest'
import { crash } from '../../bench/crash.ts'

// Runs the built service: `npm run build` comes first.
test('after a kill of service and database every acknowledged event is there, once', async () => {
  const outcome = await crash({ eventCount: 5_000, userCount: 500, kills: 1 })
  expect(outcome).toMatchObject({
    ...{ events: 5_000, acknowledged: 5_000, kills: 1 },
    ...{ missing: 0, doubled: 0 },
  })
  expect(outcome.resends).toBeGreaterThan(0)
})
