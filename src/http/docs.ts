import { createHash } from 'node:crypto'
import { Hono } from 'hono'
import { html, raw } from 'hono/html'
import type { AppEnv } from './app-env.ts'
import { openApiDocument, type OpenApiDocument, type Operation } from './openapi.ts'

const CACHE_CONTROL = 'public, max-age=300'

const STYLE = `
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 0 auto; padding: 1rem }
code, pre { font: 14px/1.4 ui-monospace, monospace }
pre { overflow: auto; padding: .75rem; border: 1px solid #8884; border-radius: 4px }
summary { cursor: pointer; padding: .4rem 0 }
details { border-bottom: 1px solid #8884 }
details > :not(summary) { margin-left: 1rem }
td, th { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0 }
b.method { display: inline-block; width: 4.5rem }
`

// One page, made of the document on the server: no script, no request to anyone, nothing to keep up.
const SECURITY = {
  'content-security-policy':
    `default-src 'none'; style-src 'sha256-${sha256(STYLE)}'; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** The API's description: /openapi.json for programs, /docs for people. */
export function docsRoutes() {
  const document = openApiDocument()
  const json = JSON.stringify(document)
  const page = pageOf(document)
  return new Hono<AppEnv>()
    .get('/openapi.json', (c) =>
      c.body(json, 200, {
        'content-type': 'application/json',
        'cache-control': CACHE_CONTROL,
        'access-control-allow-origin': '*',
      }),
    )
    .get('/docs', (c) => c.html(page, 200, { ...SECURITY, 'cache-control': CACHE_CONTROL }))
}

function pageOf({ info, tags, paths, components }: OpenApiDocument) {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${info.title} API</title>
        ${raw(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <h1>${info.title} API</h1>
        <p>${info.description}</p>
        <p>For programs: <a href="/openapi.json">/openapi.json</a>, OpenAPI 3.1.</p>
        ${tags.map(
          ({ name }) => html`
            <h2>${name}</h2>
            ${operations.filter(({ operation }) => operation.tags[0] === name).map(sectionOf)}
          `,
        )}
        <h2>Keys</h2>
        ${jsonOf(components.securitySchemes)}
        <h2>Schemas</h2>
        ${Object.entries(components.schemas).map(
          ([name, schema]) => html`
            <details id="${name}">
              <summary><code>${name}</code></summary>
              ${jsonOf(schema)}
            </details>
          `,
        )}
      </body>
    </html>`
}

interface Section {
  readonly path: string
  readonly method: string
  readonly operation: Operation
}

function sectionOf({ path, method, operation }: Section) {
  const { operationId, summary, description, security, parameters, requestBody } = operation
  const keys = security.map((part) => Object.keys(part).join(' with ')).join(', ')
  return html`
    <details id="${operationId}">
      <summary>
        <b class="method">${method.toUpperCase()}</b> <code>${path}</code> ${summary}
      </summary>
      ${description === undefined ? '' : html`<p>${description}</p>`}
      <p>Key: ${keys === '' ? 'none' : keys}</p>
      ${parameters === undefined ? '' : jsonOf(parameters)}
      ${
        requestBody === undefined
          ? ''
          : html`
              <p>Body. ${requestBody.description}</p>
              ${jsonOf(requestBody.content)}
            `
      }
      <table>
        ${Object.entries(operation.responses).map(
          ([status, { description: meaning, content }]) => html`
            <tr>
              <th>${status}</th>
              <td>${meaning}</td>
              <td>${content === undefined ? '' : linked(schemasOf(content).join(' '))}</td>
            </tr>
          `,
        )}
      </table>
    </details>
  `
}

function schemasOf(content: object): string[] {
  return JSON.stringify(content).match(/#\/components\/schemas\/\w+/g) ?? []
}

function jsonOf(value: unknown) {
  return html`<pre>${linked(JSON.stringify(value, null, 2))}</pre>`
}

/** Escapes a text, and makes links of the names of schemas. */
function linked(text: string) {
  const parts = text.split(/#\/components\/schemas\/(\w+)/)
  return parts.map((part, index) => (index % 2 === 0 ? part : html`<a href="#${part}">${part}</a>`))
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}
