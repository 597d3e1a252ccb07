import type { ErrorCode } from '../error.ts'
import { jsonSchemas, type SchemaName } from '../wire/schemas.ts'
import { BODY_BYTES_MAX, UNPACKED_BYTES_MAX } from './body.ts'
import { ANSWERS } from './error-response.ts'
import type { KeyKind, RouteDescription } from './route-description.ts'
import { ROUTES } from './route-descriptions.ts'

const BODY_ERRORS = ['INVALID_REQUEST', 'BODY_TOO_LARGE', 'UNSUPPORTED_ENCODING'] as const
const KEY_ERRORS = ['UNAUTHENTICATED', 'FORBIDDEN', 'OVERLOADED', 'STORE_UNAVAILABLE'] as const

const KEYS: Record<KeyKind, readonly object[]> = {
  write: [{ writeKey: [] }, { writeKeyHeader: [] }, { writeKeyQuery: [] }],
  read: [{ readKey: [] }, { adminKey: [], project: [] }],
  erase: [{ eraseKey: [] }, { adminKey: [], project: [] }],
  admin: [{ adminKey: [] }],
}

const bearer = (description: string) => ({ type: 'http', scheme: 'bearer', description })
const SECURITY_SCHEMES = {
  writeKey: bearer('A write key, tf_w_…: stores events, and nothing else. It may be public.'),
  writeKeyHeader: { type: 'apiKey', in: 'header', name: 'X-Write-Key' },
  writeKeyQuery: {
    type: 'apiKey',
    in: 'query',
    name: 'key',
    description: 'For beacons, which cannot send headers.',
  },
  readKey: bearer('A read key, tf_r_…: asks about its project.'),
  eraseKey: bearer('A read key that was made with the right to erase.'),
  adminKey: bearer('The admin key, from ADMIN_KEY: manages projects.'),
  project: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Project',
    description: 'With the admin key, the id of the project that is asked about.',
  },
}

export type OpenApiDocument = ReturnType<typeof openApiDocument>
export type Operation = ReturnType<typeof operation>

/** Returns the OpenAPI 3.1 document of every route that there is. */
export function openApiDocument() {
  const paths = Object.entries(ROUTES).map(
    ([path, methods]): [string, Record<string, Operation>] => {
      const operations = Object.entries(methods).map(([method, route]) => [
        method,
        operation(route),
      ])
      return [path, Object.fromEntries(operations) as Record<string, Operation>]
    },
  )
  return {
    openapi: '3.1.0',
    info: {
      title: 'Thousandfold',
      version: '1',
      description:
        'Behaviour analytics on Apache Cassandra: events in, exact funnels out. Errors are RFC 9457 problem ' +
        'details with a `code`; a path that takes no such method answers 405 and says which it takes.',
    },
    servers: [{ url: '/' }],
    tags: ['Events', 'Questions', 'Projects', 'Operation'].map((name) => ({ name })),
    paths: Object.fromEntries(paths),
    components: {
      securitySchemes: SECURITY_SCHEMES,
      schemas: { ...jsonSchemas(), Problem: problemSchema() },
    },
  }
}

function operation({
  id,
  tag,
  summary,
  description,
  key,
  parameters,
  body,
  answers,
  errors,
}: RouteDescription) {
  const codes = new Set<ErrorCode>([
    ...(key === undefined ? [] : KEY_ERRORS),
    ...(body === undefined ? [] : BODY_ERRORS),
    ...(errors ?? []),
  ])
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: key === undefined ? [] : KEYS[key],
    ...(parameters === undefined ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: requestBody(body) }),
    responses: {
      ...Object.fromEntries(
        answers.map(([status, text, ...brings]) => [status, answer(text, brings)]),
      ),
      ...problems(codes),
    },
  }
}

function requestBody(schema: SchemaName) {
  return {
    required: true,
    description:
      `At most ${BODY_BYTES_MAX} bytes; as gzip, deflate or br at most ${UNPACKED_BYTES_MAX} bytes ` +
      'unpacked. Any content type is taken.',
    content: { 'application/json': { schema: ref(schema) } },
  }
}

function answer(description: string, brings: readonly (SchemaName | `${string}/${string}`)[]) {
  if (brings.length === 0) return { description }
  const content = brings.map((one) =>
    isMediaType(one) ? [one, {}] : ['application/json', { schema: ref(one) }],
  )
  return { description, content: Object.fromEntries(content) as Record<string, object> }
}

function isMediaType(text: SchemaName | `${string}/${string}`): text is `${string}/${string}` {
  return text.includes('/')
}

function problems(codes: ReadonlySet<ErrorCode>) {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of codes) {
    const [status] = ANSWERS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => [status, problemAnswer(status, ofStatus)]),
  )
}

function problemAnswer(status: number, codes: readonly ErrorCode[]) {
  const [code] = codes
  const example = {
    ...{ type: 'about:blank', title: ANSWERS[code!][1], status },
    ...{ detail: 'What went wrong, for people', code, requestId: 'c0ffee00-…' },
  }
  return {
    description: codes.map((one) => `${one}: ${ANSWERS[one][1]}.`).join(' '),
    ...(status === 503 ? { headers: { 'Retry-After': { schema: { type: 'integer' } } } } : {}),
    content: {
      'application/problem+json': {
        schema: { allOf: [ref('Problem'), { properties: { code: { enum: codes } } }] },
        example,
      },
    },
  }
}

function problemSchema() {
  const text = { type: 'string' }
  return {
    type: 'object',
    required: ['type', 'title', 'status', 'detail', 'code', 'requestId'],
    properties: {
      ...{ type: text, title: text, status: { type: 'integer' }, detail: text },
      code: { type: 'string', enum: Object.keys(ANSWERS) },
      requestId: { type: 'string', description: 'The log has it too.' },
      errors: {
        type: 'array',
        description: 'Every fault of what was sent, with the path to it.',
        items: {
          type: 'object',
          required: ['path', 'message'],
          properties: { path: text, message: text },
        },
      },
    },
  }
}

function ref(schema: SchemaName | 'Problem') {
  return { $ref: `#/components/schemas/${schema}` }
}
