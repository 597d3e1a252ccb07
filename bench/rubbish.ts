// Bodies that no sane client sends, to the routes that take one: none may be a fault of ours, fill the
// memory, or leave the service wrong.
import { connect } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { once } from 'node:events'
import { makeProject, memoryMb, startServiceProcess } from './service-process.ts'

const BODY_COUNT = 10_000
/** So many that the heap has its usual size before it is measured. */
const WARM_UP_COUNT = 2_000
const SEED = 20_261_130
const IN_FLIGHT = 16
const BOMB_BYTES = 64 * 1_048_576
const ANSWER_TIMEOUT_MS = 30_000

interface Target {
  readonly url: string
  readonly writeKey: string
  readonly readKey: string
  readonly seed: number
  readonly bodyCount: number
}

interface Rubbish {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
}

export interface RubbishOutcome {
  /** By status; `none` where a body that was cut short got no answer, `lost` where a whole one did not. */
  readonly byStatus: Readonly<Record<string, number>>
  readonly fivexx: number
}

export async function rubbish() {
  const service = await startServiceProcess({ LOG_LEVEL: 'error' })
  try {
    const project = await makeProject(service)
    const { url, pid } = service
    const warmUp = { url, ...project, seed: SEED + 1, bodyCount: WARM_UP_COUNT }
    await throwRubbish(warmUp)
    const kept = await isRight(url, project, 'before')
    const before = await memoryMb(pid)
    const { byStatus, fivexx } = await throwRubbish({
      ...warmUp,
      seed: SEED,
      bodyCount: BODY_COUNT,
    })
    const after = await memoryMb(pid)
    return {
      bench: 'rubbish',
      bodies: BODY_COUNT,
      byStatus,
      fivexx,
      rssBeforeMb: Math.round(before.presentMb),
      rssAfterMb: Math.round(after.presentMb),
      rssPeakMb: Math.round(after.peakMb),
      stillRight: kept && (await isRight(url, project, 'after')),
    }
  } finally {
    await service.close()
  }
}

/** Whether an event that is sent now is accepted, and counted by a funnel. */
async function isRight(
  url: string,
  { writeKey, readKey }: { writeKey: string; readKey: string },
  event: string,
): Promise<boolean> {
  const post = async (path: string, key: string, body: unknown) => {
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(url + path, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    return (await response.json()) as { accepted?: number; steps?: { users: number }[] }
  }
  const stored = await post('/v1/events', writeKey, { event, userId: 'right' })
  const asked = await post('/v1/funnels', readKey, { steps: [{ event }], freshness: 'now' })
  return stored.accepted === 1 && asked.steps?.[0]?.users === 1
}

/** Sends so many bodies drawn from a seed, and tells how they were answered. */
export async function throwRubbish(target: Target): Promise<RubbishOutcome> {
  const random = randomOf(target.seed)
  const kinds = rubbishKinds(random)
  const byStatus: Record<string, number> = {}
  let left = target.bodyCount
  const worker = async () => {
    while (left-- > 0) {
      const isQuestion = random() < 0.25
      const question = random() < 0.5 ? '/v1/funnels' : '/v1/events/search'
      const path = isQuestion ? question : '/v1/events'
      const key = isQuestion ? target.readKey : target.writeKey
      const make = kinds[Math.floor(random() * kinds.length)]!
      const status = await statusOf(target.url, { path, key, ...make() })
      byStatus[status] = (byStatus[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
  const fivexx = Object.entries(byStatus).reduce(
    (sum, [status, count]) => (status >= '500' && status <= '599' ? sum + count : sum),
    0,
  )
  return { byStatus, fivexx }
}

/** Sends what may be no HTTP at all on a connection of its own; returns the status of the answer. */
async function statusOf(
  url: string,
  { path, key, body, headers }: Rubbish & { readonly path: string; readonly key: string },
): Promise<string> {
  const { hostname, port } = new URL(url)
  const all: Record<string, string> = {
    ...{ host: hostname, connection: 'close', authorization: `Bearer ${key}` },
    ...{ 'content-length': String(body.length), ...headers },
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy())
  let answer = ''
  socket.on('data', (chunk: Buffer) => {
    if (answer.length < 64) answer += chunk.toString('latin1')
  })
  // The other side may close before it has read all; what it had answered by then counts.
  socket.on('error', () => socket.destroy())
  socket.on('end', () => socket.end())
  const bytes = Buffer.concat([Buffer.from(head), body])
  // Node answers nobody who has ended a connection, so only those end it who would wait for ever.
  const isWhole = Number(all['content-length']) <= body.length && !('transfer-encoding' in all)
  if (isWhole) socket.write(bytes)
  else socket.end(bytes)
  await once(socket, 'close')
  return /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? (isWhole ? 'lost' : 'none')
}

const PACKERS: readonly (readonly [string, (bytes: Buffer) => Buffer])[] = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
]

const VALUES = [
  ...['null', 'true', '-0', '1e999', '-1e-999', '12345678901234567890123', '0.1e1', '[]', '{}'],
  ...['""', '"\\u0000"', '"\\ud83d"', '"__proto__"', '[[[]]]', '{"__proto__":{"polluted":1}}'],
  ...['9007199254740993', '1796040000000', '"2026-11-30T12:00:00Z"', '"9999-99-99T99:99:99Z"'],
]
const KEYS = [
  ...['event', 'userId', 'anonymousId', 'id', 'sessionId', 'time', 'properties', 'events'],
  ...['steps', 'anyOf', 'where', 'window', 'from', 'to', 'breakdown', '__proto__', 'constructor'],
  ...['toJSON', 'length', ''],
]

/** Every kind of rubbish, as makers of one more piece. */
function rubbishKinds(random: () => number): readonly (() => Rubbish)[] {
  const integer = (max: number) => Math.floor(random() * max)
  const pick = <T>(items: readonly T[]): T => items[integer(items.length)]!
  const bytes = (size: number) => Buffer.from(Array.from({ length: size }, () => integer(256)))
  const plain = (body: string | Buffer): Rubbish => ({ body: Buffer.from(body), headers: {} })
  const bombs = PACKERS.map(([encoding, pack]) => ({
    body: pack(Buffer.alloc(BOMB_BYTES, ' ')),
    headers: { 'content-encoding': encoding },
  }))

  const anObject = (depth: number): string => {
    const fields = Array.from({ length: integer(6) }, () => {
      const value = depth > 0 && random() < 0.4 ? anObject(depth - 1) : pick(VALUES)
      return `${JSON.stringify(pick(KEYS))}:${value}`
    })
    return random() < 0.2 ? `[${fields.map((_, at) => at).join()}]` : `{${fields.join()}}`
  }
  const wrongTypes = () =>
    `{"event":${pick(VALUES)},"userId":${pick(VALUES)},"id":${pick(VALUES)},"time":${pick(VALUES)},` +
    `"properties":${pick([...VALUES, anObject(3)])}}`
  const wrongQuestion = () =>
    `{"steps":[{"event":${pick(VALUES)},"where":[{"property":"p","op":${pick(VALUES)},` +
    `"value":${pick(VALUES)}}]}],"from":${pick(VALUES)},"to":${pick(VALUES)},"windowMs":${pick(VALUES)}}`
  const packed = (body: Buffer): Rubbish => {
    const [encoding, pack] = pick(PACKERS)
    return { body: pack(body), headers: { 'content-encoding': encoding } }
  }
  const cut = ({ body, headers }: Rubbish): Rubbish => ({
    body: body.subarray(0, integer(body.length)),
    headers,
  })

  return [
    () => plain(bytes(integer(3_000))),
    () => plain(Buffer.concat([Buffer.from('{"event":"'), bytes(integer(50)), Buffer.from('"}')])),
    () => plain(`{"event":"e","userId":"a","properties":${'['.repeat(integer(200_000))}`),
    () => plain(nestedBody(integer(100_000))),
    () => plain(`{"event":"e","userId":"a","properties":{"n":${'9'.repeat(integer(20_000))}}}`),
    () => plain(`{"event":"e","userId":"a","properties":{"n":1e${'9'.repeat(1 + integer(500))}}}`),
    () => plain(`[${Array.from({ length: integer(400) }, wrongTypes).join()}]`),
    () => plain(wrongTypes()),
    () => plain(wrongQuestion()),
    () => plain(anObject(6)),
    () => plain(pick(VALUES)),
    () => plain(`{"event":"e","userId":"${'u'.repeat(integer(1_100_000))}"}`),
    () =>
      plain(`{"event":"e","userId":"a","properties":{"p":"${'\\u0000'.repeat(integer(90_000))}"}}`),
    () => plain(`[${'0,'.repeat(integer(500_000))}0]`),
    () => plain(''),
    () => pick(bombs),
    () => packed(bytes(integer(2_000))),
    () => packed(Buffer.from(wrongTypes())),
    () => cut(packed(Buffer.from(wrongTypes()))),
    () => cut(plain(wrongTypes())),
    () => ({ ...plain(wrongTypes()), headers: { 'content-length': String(integer(5_000)) } }),
    () => ({ ...plain(wrongTypes()), headers: { 'content-length': pick(['-1', 'x', '1e3', '']) } }),
    () => ({
      ...plain(wrongTypes()),
      headers: { 'content-encoding': pick(['zstd', 'x', 'gzip']) },
    }),
    () => ({ ...plain(bytes(100)), headers: { 'transfer-encoding': 'chunked' } }),
  ]
}

function nestedBody(depth: number): string {
  return `{"event":"e","userId":"a","properties":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`
}

/** The same numbers from 0 to 1 for the same seed: mulberry32 (Tommy Ettinger, public domain). */
function randomOf(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
