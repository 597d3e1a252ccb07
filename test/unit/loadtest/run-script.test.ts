/** The runner does with small scripts what k6 is documented to do. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { EXIT } from '../../../loadtest/runner/run-script.ts'
import { temporaryFolder } from '../../support/data-dir.ts'
import { runLoadTest } from '../../support/load-test.ts'

const folder = await temporaryFolder()
afterAll(() => folder.remove())

// Answers with the status that the path names, as late as the query says; /never does not answer.
const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://here')
  if (pathname === '/never') return
  const answer = () => {
    response.writeHead(Number(pathname.slice(1)), { 'retry-after': '3' })
    response.end('{"got":true}')
  }
  setTimeout(answer, Number(searchParams.get('ms') ?? 0))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
afterAll(() => {
  server.close()
  server.closeAllConnections()
})
const URL_HERE = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const IMPORTS = `import { check, fail, group, sleep } from 'k6'
import http from 'k6/http'
import exec from 'k6/execution'
import { Counter, Gauge, Rate, Trend } from 'k6/metrics'
const get = (path, params) => http.asyncRequest('GET', __ENV.URL + path, null, params)
export function handleSummary(data) { return { stdout: JSON.stringify(data) } }
`
const FIVE = `{ executor: 'constant-arrival-rate', rate: 5, duration: '1s', preAllocatedVUs: 5, exec: 'work' }`

interface Told {
  readonly metrics: Record<
    string,
    { values: Record<string, number>; thresholds?: Record<string, { ok: boolean }> }
  >
}

async function run(script: string, stop?: AbortSignal, imports = IMPORTS) {
  const path = join(folder.path, `${randomUUID()}.ts`)
  await writeFile(path, imports + script)
  const ended = await runLoadTest(path, { URL: URL_HERE, COLOUR: 'red' }, stop)
  const { metrics = {} } = (ended.out.startsWith('{') ? JSON.parse(ended.out) : {}) as Partial<Told>
  const count = (name: string) => metrics[name]?.values['count'] ?? 0
  return { ...ended, metrics, count }
}

describe.concurrent('an iteration', () => {
  test('starts when it is due, and is counted with how long it took', async () => {
    const { code, count, metrics } = await run(`
      export const options = { scenarios: { a: ${FIVE} } }
      export async function work() { await sleep(0.1) }`)
    expect([code, count('iterations')]).toEqual([EXIT.ok, 5])
    expect(metrics['iteration_duration']!.values['min']).toBeGreaterThanOrEqual(95)
  })

  test('without a free virtual user takes a new one, and is dropped beyond the most', async () => {
    const { count } = await run(`
      export const options = { scenarios: { a: { ...${FIVE}, preAllocatedVUs: 1, maxVUs: 3 } } }
      export async function work() { await sleep(2) }`)
    expect([count('iterations'), count('dropped_iterations')]).toEqual([3, 2])
  })

  test('that fails ends alone, and is told', async () => {
    const { code, count, errors } = await run(`
      export const options = { scenarios: { a: ${FIVE} } }
      export function work() { if (exec.scenario.iterationInTest === 2) fail('the third') }`)
    expect([code, count('iterations')]).toEqual([EXIT.ok, 5])
    expect(errors).toContain('the third')
  })

  test('that is still running when the grace is over is interrupted, and not counted', async () => {
    const { count } = await run(`
      const seen = new Counter('seen')
      export const options = { scenarios: { a: { ...${FIVE}, gracefulStop: '100ms' } } }
      export async function work() {
        seen.add(1)
        if (exec.scenario.iterationInTest > 1) await get('/never')
        seen.add(1)
      }`)
    expect([count('iterations'), count('seen'), count('http_reqs')]).toEqual([2, 7, 0])
  })

  test('has a number that no other has, and a virtual user that remembers', async () => {
    const { metrics } = await run(`
      const number = new Trend('number'), before = new Trend('before')
      let count = 0
      export const options = { scenarios: { a: { ...${FIVE}, preAllocatedVUs: 1 } } }
      export function work() { number.add(exec.scenario.iterationInTest); before.add(count++) }`)
    for (const name of ['number', 'before'])
      expect(metrics[name]!.values).toMatchObject({ min: 0, med: 2, max: 4, avg: 2 })
  })
})

describe.concurrent('a scenario', () => {
  test('has its start, its environment and its tags, beside others', async () => {
    const { code, errors } = await run(`
      const seen = new Counter('seen')
      export const options = {
        tags: { everywhere: 'yes' },
        scenarios: {
          first: ${FIVE},
          second: { ...${FIVE}, startTime: '500ms', env: { COLOUR: 'blue' }, tags: { part: 'b' } },
        },
        thresholds: {
          'seen{colour:red,scenario:first,everywhere:yes}': ['count==5'],
          'seen{colour:blue,scenario:second,part:b}': ['count==5'],
          'seen{part:b}': ['count==5'],
        },
      }
      export function work() { seen.add(1, { colour: __ENV.COLOUR }) }`)
    expect([errors, code]).toEqual(['', EXIT.ok])
  })

  test.each([
    ['rate: 0', `{ ...${FIVE}, rate: 0 }`],
    ['no function', `{ ...${FIVE}, exec: 'missing' }`],
    ['maxVUs is less', `{ ...${FIVE}, maxVUs: 2 }`],
    ['no executor', `{ executor: 'constant-vus', vus: 1, duration: '1s', exec: 'work' }`],
    ['is no duration', `{ ...${FIVE}, duration: 'long' }`],
  ])('that is wrong does not start: %s', async (_, scenario) => {
    const { code } = await run(`
      export const options = { scenarios: { a: ${scenario} } }
      export function work() {}`)
    expect(code).toBe(EXIT.invalidConfig)
  })
})

describe.concurrent('a request', () => {
  test('is measured in its parts, and failed where its status is not expected', async () => {
    const { metrics, count, code } = await run(`
      export const options = {
        scenarios: { a: ${FIVE} },
        thresholds: { 'http_req_duration{name:slow,expected_response:true}': ['min>=50'] },
      }
      const shed = http.expectedStatuses(200, { min: 503, max: 504 })
      export async function work() {
        const slow = await get('/200?ms=50', { tags: { name: 'slow' } })
        await get('/404')
        const known = await get('/503', { responseCallback: shed })
        check(slow, {
          'has a body': (r) => r.json().got === true && r.status === 200,
          'has timings': (r) => r.timings.waiting >= 45 && r.timings.duration >= r.timings.waiting,
        })
        check(known, { 'has a header': (r) => r.headers['Retry-After'] === '3' })
      }`)
    expect(code).toBe(EXIT.ok)
    expect(count('http_reqs')).toBe(15)
    expect(metrics['http_req_failed']!.values).toMatchObject({ passes: 5, fails: 10 })
    expect(metrics['checks']!.values).toMatchObject({ rate: 1, passes: 15 })
    expect(count('data_received')).toBeGreaterThan(15 * 50)
  })

  test('without an answer has the status 0 and says why', async () => {
    const { metrics, code } = await run(`
      export const options = { scenarios: { a: ${FIVE} } }
      export async function work() {
        const late = await get('/never', { timeout: '100ms' })
        const away = await http.asyncRequest('GET', 'http://127.0.0.1:1/')
        check(null, {
          'late': () => late.status === 0 && late.error_code === 1050,
          'away': () => away.status === 0 && away.error.includes('ECONNREFUSED'),
        })
      }`)
    expect(code).toBe(EXIT.ok)
    expect(metrics['checks']!.values).toMatchObject({ rate: 1, passes: 10 })
    expect(metrics['http_req_failed']!.values).toMatchObject({ rate: 1 })
  })
})

describe.concurrent('setup and teardown', () => {
  test('hand data on as JSON, and what they measure counts', async () => {
    const { code, count, errors } = await run(`
      const sum = new Counter('sum')
      export const options = { scenarios: { a: ${FIVE} }, thresholds: { sum: ['count==0'] } }
      export async function setup() { sum.add(2); return { one: 1, at: new Date(0), gone: undefined } }
      export function work(data) {
        if (data.at !== '1970-01-01T00:00:00.000Z' || 'gone' in data) fail('not JSON')
        sum.add(data.one)
        data.one = 100
      }
      export function teardown(data) { sum.add(-5 - 2 * data.one) }`)
    expect([errors, count('sum'), code]).toEqual(['', 0, EXIT.ok])
  })

  test('end the run with 107 where they throw, and setup before it begins', async () => {
    const setup = await run(`
      export const options = { scenarios: { a: ${FIVE} } }
      export function setup() { throw new Error('no luck') }
      export function work() {}`)
    expect([setup.code, setup.out]).toEqual([EXIT.scriptException, ''])
    const teardown = await run(`
      export const options = { scenarios: { a: ${FIVE} }, thresholds: { iterations: ['count<0'] } }
      export function work() {}
      export function teardown() { throw new Error('no luck') }`)
    expect([teardown.code, teardown.count('iterations')]).toEqual([EXIT.scriptException, 5])
    expect(teardown.errors).toContain('no luck')
  })

  test('end the run where they take too long', async () => {
    const slow = (name: string) => `
      export const options = { scenarios: { a: ${FIVE} }, ${name}Timeout: '100ms' }
      export function work() {}
      export async function ${name}() { await sleep(5) }`
    expect((await run(slow('setup'))).code).toBe(EXIT.setupTimeout)
    expect((await run(slow('teardown'))).code).toBe(EXIT.teardownTimeout)
  })
})

describe.concurrent('a run', () => {
  test('whose script cannot be read, or throws at once, ends with 107', async () => {
    expect((await run('export const options = {')).code).toBe(EXIT.scriptException)
    expect((await run('throw new Error("at once")')).code).toBe(EXIT.scriptException)
    const unknown = await run(`import data from 'k6/data'; data.x`)
    expect([unknown.code, unknown.errors]).toEqual([
      EXIT.scriptException,
      expect.stringContaining('this runner has no k6/data'),
    ])
  })

  test.each(['unknown', 'checks', 'http_reqs{name}'])(
    'with a threshold that cannot be, on %s, ends with 104',
    async (metric) => {
      const { code } = await run(`
        export const options = { scenarios: { a: ${FIVE} }, thresholds: { '${metric}': ['count>0'] } }
        export function work() {}`)
      expect(code).toBe(EXIT.invalidConfig)
    },
  )

  test('with a broken threshold ends with 99, after all of its work', async () => {
    const { code, count, metrics } = await run(`
      const level = new Gauge('level'), hits = new Rate('hits')
      export const options = {
        scenarios: { a: ${FIVE} },
        thresholds: { level: ['value<3'], hits: ['rate>0.7', 'rate<=0.8'] },
      }
      export function work() {
        level.add(exec.scenario.iterationInTest)
        hits.add(exec.scenario.iterationInTest > 0)
      }`)
    expect([code, count('iterations')]).toEqual([EXIT.thresholdsFailed, 5])
    expect(metrics['level']!.thresholds).toEqual({ 'value<3': { ok: false } })
    expect(metrics['hits']!.thresholds).toEqual({
      'rate>0.7': { ok: true },
      'rate<=0.8': { ok: true },
    })
  })

  test('that is hopeless ends early with 99, and its teardown is done', async () => {
    const { code, count } = await run(`
      const torn = new Counter('torn')
      export const options = {
        scenarios: { a: { ...${FIVE}, duration: '30s' } },
        thresholds: { checks: [{ threshold: 'rate>0.9', abortOnFail: true }] },
      }
      export function work() { check(0, { 'never': false }) }
      export function teardown() { torn.add(1) }`)
    expect([code, count('torn')]).toEqual([EXIT.thresholdsFailed, 1])
    expect(count('iterations')).toBeLessThan(20)
  })

  test('that is stopped from outside ends with 105, and its teardown is done', async () => {
    const { code, count } = await run(
      `const torn = new Counter('torn')
      export const options = { scenarios: { a: { ...${FIVE}, duration: '30s' } } }
      export async function work() { await get('/never') }
      export function teardown() { torn.add(1) }`,
      AbortSignal.timeout(500),
    )
    expect([code, count('torn'), count('iterations')]).toEqual([EXIT.externalAbort, 1, 0])
  })

  test('without a summary of its own prints thresholds, checks and metrics', async () => {
    const imports = IMPORTS.replace(/export function handleSummary.*\n/, '')
    const { out } = await run(
      `const mine = new Trend('mine', true)
      export const options = {
        scenarios: { a: ${FIVE} },
        thresholds: { mine: ['p(50)<1', 'max<9'], 'http_reqs{name:x}': ['count>=0'] },
      }
      export function work() {
        group('inner', () => mine.add(exec.scenario.iterationInTest))
        check(0, { 'at times': () => exec.scenario.iterationInTest < 3, 'always': true })
      }`,
      undefined,
      imports,
    )
    expect(out).toContain(`
  █ THRESHOLDS

    mine
    ✗ 'p(50)<1' p(50)=2ms
    ✓ 'max<9' max=4ms

    http_reqs{name:x}
    ✓ 'count>=0' count=0
`)
    expect(out.replaceAll(/\.{3,}/g, '…')).toContain(`
    checks_total…: 10
    checks_succeeded…: 80.00% 8 out of 10
    checks_failed…: 20.00% 2 out of 10

    ✗ at times
      ↳ ✓ 3 / ✗ 2
    ✓ always

    CUSTOM
    mine…: avg=2ms min=0ms med=2ms max=4ms p(90)=3.6ms p(95)=3.8ms

    EXECUTION
    group_duration…: avg=`)
  })
})
