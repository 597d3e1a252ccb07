import { createHash } from 'node:crypto'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import { systemClock as clock } from '../../../src/clock.ts'
import { openAccess } from '../../../src/http/access.ts'
import { openApp } from '../../../src/http/app.ts'
import { openBodies } from '../../../src/http/body.ts'
import { openApiDocument } from '../../../src/http/openapi.ts'
import { allRoutes } from '../../../src/http/routes.ts'
import { openLog } from '../../../src/log.ts'
import { declareMetrics } from '../../../src/metrics.ts'
import { FunnelQuery } from '../../../src/wire/funnel-query.ts'

// Nothing here is called: the routes that are asked need no store.
const notThere = {} as never
const metrics = declareMetrics()
const access = openAccess({ keys: notThere, projects: notThere, adminKey: 'of-no-use', clock })
const routes = allRoutes({
  gate: { access, bodies: openBodies(0) },
  ingest: notThere,
  questions: notThere,
  upkeep: { projects: notThere, erasures: notThere },
  health: { readiness: notThere, connections: notThere, metrics, threadMetrics: notThere },
})
const app = openApp({ ...routes, metrics, log: openLog('silent') })

const document = openApiDocument()
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate(structuredClone(document))
    expect(result).toEqual({ valid: true })
  })

  test('tells of exactly the routes that the app has', () => {
    const registered = app.routes
      .filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(described.toSorted()).toEqual([...new Set(registered)].toSorted())
  })

  test('refers to nothing that it does not have, and has nothing that is not referred to', () => {
    const named = JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)
    const referred = new Set([...named].map(([, name]) => name!))
    // The one event of a batch is shown by itself too.
    referred.add('SentEvent')
    expect([...referred].toSorted()).toEqual(Object.keys(document.components.schemas).toSorted())
    const schemes = operations.flatMap(({ security }) => security.flatMap(Object.keys))
    expect([...new Set(schemes)].toSorted()).toEqual(
      Object.keys(document.components.securitySchemes).toSorted(),
    )
  })

  test('declares every parameter of every path', () => {
    for (const [path, methods] of Object.entries(document.paths))
      for (const { parameters = [] } of Object.values(methods)) {
        const inPath = parameters as { name: string; in: string }[]
        const declared = inPath.filter((one) => one.in === 'path').map(({ name }) => `{${name}}`)
        expect(path.match(/\{\w+\}/g) ?? []).toEqual(declared)
      }
  })

  test('gives every operation an id of its own', () => {
    const ids = operations.map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('asks of a funnel what may be left out, not what the checks put in', () => {
    const { required } = document.components.schemas.FunnelQuery as { required: string[] }
    expect(required).toEqual(['steps'])
  })

  test('has a funnel as its example that is a funnel', () => {
    const { examples } = document.components.schemas.FunnelQuery as { examples: unknown[] }
    for (const example of examples) expect(FunnelQuery.safeParse(example).success).toBe(true)
    expect(examples).toHaveLength(1)
  })

  test('is what the app answers', async () => {
    const answer = await app.request('/openapi.json')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(await answer.json()).toEqual(JSON.parse(JSON.stringify(document)))
  })
})

describe('the page of the API', () => {
  const load = async () => {
    const answer = await app.request('/docs')
    return { answer, page: await answer.text() }
  }

  test('shows every operation and schema', async () => {
    const { answer, page } = await load()
    expect(answer.headers.get('content-type')).toBe('text/html; charset=UTF-8')
    for (const { operationId } of operations) expect(page).toContain(`id="${operationId}"`)
    for (const name of Object.keys(document.components.schemas))
      expect(page).toContain(`id="${name}"`)
  })

  test('links only within itself and to the document', async () => {
    const { page } = await load()
    const targets = [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, target]) => target!)
    const within = new Set([...page.matchAll(/id="([^"]*)"/g)].map(([, id]) => `#${id}`))
    expect(targets.filter((to) => to !== '/openapi.json' && !within.has(to))).toEqual([])
    expect(page).not.toContain('<script')
  })

  test('allows its own style and nothing else', async () => {
    const { answer, page } = await load()
    const style = /<style>([^]*)<\/style>/.exec(page)![1]!
    const hash = createHash('sha256').update(style).digest('base64')
    expect(answer.headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    )
    expect(page).not.toMatch(/ style="| on\w+="/)
  })
})
