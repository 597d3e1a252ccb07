/** The load tests can pass, and can fail: run for real against a service that is well, and one that is not. */
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openHttpProxy } from '../support/http-proxy.ts'
import { runLoadTest } from '../support/load-test.ts'
import { ADMIN_KEY, openTestService } from '../support/service.ts'
import { ROOT } from '../support/sources.ts'

const THRESHOLDS_FAILED = 99

const service = await openTestService()
const proxy = await openHttpProxy(service.url)
beforeEach(() => proxy.tamper(() => undefined))

const run = (script: string, environment: Record<string, string>) =>
  runLoadTest(join(ROOT, 'loadtest', `${script}.ts`), {
    ...{ TARGET_URL: proxy.url, ADMIN_KEY, ...environment },
  })
const broken = (out: string) =>
  [...out.matchAll(/^ {4}✗ '([^']+)'/gm)].map(([, threshold]) => threshold)
const projectCount = async () =>
  (await service.admin('/v1/projects')).json<{ projects: unknown[] }>().projects.length

describe('smoke', () => {
  // Generous: other tests run beside this one.
  const WELL = { DURATION: '10s', P95_MS: '5000' }
  const SHORT = { DURATION: '3s', P95_MS: '5000' }

  test('passes against a service that is well, and leaves no project behind', async () => {
    const ended = await run('smoke', WELL)
    expect([ended.errors, broken(ended.out), ended.code]).toEqual(['', [], 0])
    expect(ended.out).toMatch(/checks_succeeded\.+: 100\.00%/)
    expect(await projectCount()).toBe(0)
  })

  test('passes with keys that are given, twice on one project', async () => {
    const { writeKey: WRITE_KEY, readKey: READ_KEY } = await service.createProject()
    for (let time = 0; time < 2; time++) {
      const ended = await run('smoke', { ...SHORT, WRITE_KEY, READ_KEY })
      expect([ended.errors, broken(ended.out), ended.code]).toEqual(['', [], 0])
    }
  })

  test('fails when an event is acknowledged and not stored', async () => {
    // Those that are sent once: a resend would bring what was swallowed.
    const swallowed = new Set<number>()
    proxy.tamper((path, body) => {
      if (path !== '/v1/events' || body.startsWith('[')) return undefined
      const { serial } = (JSON.parse(body) as { properties: { serial: number } }).properties
      if (serial % 4 !== 3) return undefined
      swallowed.add(serial)
      return { status: 200, body: '{"accepted":1,"rejected":[]}' }
    })
    const { out, code } = await run('smoke', SHORT)
    expect(swallowed.size).toBeGreaterThan(0)
    expect(code).toBe(THRESHOLDS_FAILED)
    for (const source of ['segments', 'events', 'counts'])
      expect(out).toContain(
        `events_lost{source:${source}}\n    ✗ 'count<=0' count=${swallowed.size}\n`,
      )
  })

  test('fails when an event is stored twice', async () => {
    proxy.tamper((path, body) => {
      if (path !== '/v1/events' || body.startsWith('[')) return undefined
      // Under another id the copy is an event of its own.
      return { copy: body.replace('"id":"', '"id":"again-') }
    })
    const { out, code } = await run('smoke', SHORT)
    expect(code).toBe(THRESHOLDS_FAILED)
    expect(out).toMatch(/events_invented\{source:counts\}\n {4}✗ 'count<=0' count=[1-9]/)
  })

  test('fails when answers are late', async () => {
    proxy.tamper((path) => (path === '/v1/events' ? { delayMs: 700 } : undefined))
    const { out, code } = await run('smoke', { ...SHORT, P95_MS: '600' })
    expect(code).toBe(THRESHOLDS_FAILED)
    expect(out).toMatch(/http_req_duration\{name:ingest\}\n {4}✗ 'p\(95\)<600'/)
    expect(out).toMatch(/events_lost\{source:counts\}\n {4}✓ 'count<=0' count=0\n/)
  })

  test('fails when requests are refused', async () => {
    let count = 0
    proxy.tamper((path) =>
      path === '/v1/events' && ++count % 5 === 0 ? { status: 503, body: '{}' } : undefined,
    )
    const { out, code } = await run('smoke', SHORT)
    expect(code).toBe(THRESHOLDS_FAILED)
    expect(broken(out)).toContain('rate==0')
    expect(out).toMatch(/events_lost\{source:events\}\n {4}✓ 'count<=0' count=0\n/)
  })
})

describe('each script', () => {
  const P95_MS = '10000'
  test.each([
    ['ingest', { RATE: '5', DURATION: '3s', P99_MS: '20000' }],
    ['funnel', { RATE: '2', DURATION: '3s', USERS: '2000' }],
    ['mixed', { RATE: '3', DURATION: '5s' }],
    ['spike', { RATE: '2', FACTOR: '5', CALM: '2s', SPIKE: '2s', SETTLE: '1s' }],
    ['soak', { RATE: '3', DURATION: '9s', GROWTH_PERCENT_MAX: '1000' }],
  ])('%s passes in small', async (script, environment) => {
    const ended = await run(script, { P95_MS, ...environment })
    expect([ended.errors, broken(ended.out), ended.code]).toEqual(['', [], 0])
  })
})
