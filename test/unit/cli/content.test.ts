import { createHash } from 'node:crypto'
import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { examineContent, readContent, type Content } from '../../../src/cli/import/content.ts'
import { temporaryFolder } from '../../support/data-dir.ts'

const folder = await temporaryFolder()
afterAll(folder.remove)
const going = new AbortController().signal

async function textOf(content: Content): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of readContent(content)) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

describe('the content of a file', () => {
  test('is its bytes unpacked, with their hash and their lines counted', async () => {
    const path = join(folder.path, 'packed')
    // A gzip file may be several, one after the other.
    await writeFile(path, Buffer.concat([gzipSync('a\nb'), gzipSync('c\nd')]))
    const content = await examineContent(path, going)
    const hash = createHash('sha256').update('a\nbc\nd').digest()
    expect(content).toMatchObject({ isGzip: true, hash, size: 6, lineCount: 3 })
    expect(await textOf(content)).toBe('a\nbc\nd')
  })

  test('is what it was when its hash was made, though the file has grown since', async () => {
    const path = join(folder.path, 'growing')
    await writeFile(path, 'a\nb\n')
    const content = await examineContent(path, going)
    await appendFile(path, 'c\n')
    expect(content.lineCount).toBe(2)
    expect(await textOf(content)).toBe('a\nb\n')
  })

  test('is read no further when that is interrupted', async () => {
    const path = join(folder.path, 'some')
    await writeFile(path, 'a\n')
    const reason = new Error('enough')
    await expect(examineContent(path, AbortSignal.abort(reason))).rejects.toBe(reason)
  })
})
