import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { sendRaw } from '../support/http-client.ts'
import { openTestService, usersOf } from '../support/service.ts'

const service = await openTestService()
const project = await service.createProject()
const MIB = 1_048_576

const json = Buffer.from(JSON.stringify({ event: 'packed', userId: 'a', id: 'one' }))

/** A body of exactly so many bytes: an event and white space. */
function bodyOf(sizeBytes: number): Buffer {
  return Buffer.concat([json, Buffer.alloc(sizeBytes - json.length, ' ')])
}

describe('the size of a body', () => {
  test('1 MiB is taken and one byte more is refused', async () => {
    expect((await project.post(bodyOf(MIB))).status).toBe(200)
    const answer = await project.post(bodyOf(MIB + 1))
    expect([answer.status, answer.json()['code']]).toEqual([413, 'BODY_TOO_LARGE'])
  })

  test('a body of unknown length is refused where it grows too large', async () => {
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
    const head = `POST /v1/events HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\nauthorization: Bearer ${project.writeKey}\r\n\r\n`
    const bytes = Buffer.from(`${head}${chunk.repeat(17)}0\r\n\r\n`)
    expect(await sendRaw(service.url, bytes)).toBe(413)
  })

  test('10 MiB unpacked are taken and one byte more is refused', async () => {
    const most = await project.post(gzipSync(bodyOf(10 * MIB)), { 'content-encoding': 'gzip' })
    expect(most.status).toBe(200)
    const more = await project.post(gzipSync(bodyOf(10 * MIB + 1)), { 'content-encoding': 'gzip' })
    expect([more.status, more.json()['code']]).toEqual([413, 'BODY_TOO_LARGE'])
  })

  test('a client that ends a body early has stored nothing', async () => {
    const head = `POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-length: 5000\r\nauthorization: Bearer ${project.writeKey}\r\n\r\n`
    const event = JSON.stringify({ event: 'cut', userId: 'a' })
    await sendRaw(service.url, Buffer.from(head + event))
    expect(usersOf(await project.funnel({ steps: [{ event: 'cut' }] }))).toEqual([0])
  })
})

const PACKERS: readonly (readonly [string, string, (bytes: Buffer) => Buffer])[] = [
  ['gzip', 'gzip', gzipSync],
  ['gzip under its old name', 'x-gzip', gzipSync],
  ['gzip in capitals', ' GZIP ', gzipSync],
  ['deflate', 'deflate', deflateSync],
  ['bare deflate', 'deflate', deflateRawSync],
  ['br', 'br', brotliCompressSync],
]

describe.each(PACKERS)('a body packed with %s', (_, encoding, pack) => {
  const post = (bytes: Buffer) => project.post(bytes, { 'content-encoding': encoding })

  test('is unpacked', async () => {
    expect((await post(pack(json))).text).toBe('{"accepted":1,"rejected":[]}')
  })

  test('is refused where it is a bomb', async () => {
    const bomb = pack(Buffer.alloc(100 * MIB, ' '))
    expect(bomb.length).toBeLessThan(MIB)
    const answer = await post(bomb)
    expect([answer.status, answer.json()['code']]).toEqual([413, 'BODY_TOO_LARGE'])
  })

  test('is refused where it is cut short', async () => {
    const packed = pack(Buffer.from(`["${randomBytes(5_000).toString('hex')}"]`))
    const answer = await post(packed.subarray(0, packed.length / 2))
    expect([answer.status, answer.json()['code']]).toEqual([400, 'INVALID_REQUEST'])
  })

  test('is refused where it is not', async () => {
    const answer = await post(Buffer.from('{"event":"view"'))
    expect([answer.status, answer.json()['code']]).toEqual([400, 'INVALID_REQUEST'])
  })
})

test('a body may say that it is packed with nothing', async () => {
  expect((await project.post(json, { 'content-encoding': 'identity' })).status).toBe(200)
})

test.each(['zstd', 'compress', 'gzip, gzip', 'aes128gcm'])(
  'the encoding %s is unknown',
  async (encoding) => {
    const answer = await project.post(json, { 'content-encoding': encoding })
    expect([answer.status, answer.json()['code']]).toEqual([415, 'UNSUPPORTED_ENCODING'])
  },
)

describe('the text of a body', () => {
  test.each(['ff', 'c0af', 'eda080', 'f4908080', 'c3', 'e282'])(
    'the bytes %s are not UTF-8, so it is refused as a whole',
    async (hex) => {
      const [head, tail] = ['{"event":"broken","userId":"', '"}'].map((text) => Buffer.from(text))
      const answer = await project.post(Buffer.concat([head!, Buffer.from(hex, 'hex'), tail!]))
      expect([answer.status, answer.json()['code']]).toEqual([400, 'INVALID_REQUEST'])
      expect(usersOf(await project.funnel({ steps: [{ event: 'broken' }] }))).toEqual([0])
    },
  )

  test('a byte order mark before it is no part of it', async () => {
    const answer = await project.post(Buffer.concat([Buffer.from('efbbbf', 'hex'), json]))
    expect(answer.text).toBe('{"accepted":1,"rejected":[]}')
  })

  test('a question may begin with a byte order mark too', async () => {
    expect((await project.ask('\ufeff{"steps":[{"event":"packed"}]}')).status).toBe(200)
  })

  test('its content type is not asked for', async () => {
    for (const type of ['text/plain', 'application/json; charset=utf-8', 'application/csp-report'])
      expect((await project.post(json, { 'content-type': type })).status).toBe(200)
  })

  test('100,000 levels of brackets are refused, as one event or as none', async () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000)
    const answer = await project.post(`{"event":"view","userId":"a","properties":{"p":${deep}}}`)
    expect(answer.status).toBeGreaterThanOrEqual(200)
    expect(answer.status).toBeLessThan(500)
    expect(answer.json()['accepted'] ?? 0).toBe(0)
    expect((await project.ask(deep)).status).toBe(400)
  })
})

test('an upload that goes on after its answer is ended', async () => {
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => socket.destroy())
  socket.write(
    'POST /v1/events HTTP/1.1\r\nhost: a\r\nauthorization: Bearer wrong\r\ntransfer-encoding: chunked\r\n\r\n',
  )
  const upload = setInterval(() => socket.write(`1000\r\n${' '.repeat(4_096)}\r\n`), 20)
  const answer: Buffer[] = []
  socket.on('data', (chunk: Buffer) => answer.push(chunk))
  await once(socket, 'close')
  clearInterval(upload)
  expect(Buffer.concat(answer).toString()).toContain('HTTP/1.1 401')
}, 20_000)
