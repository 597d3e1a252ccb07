import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { afterAll, expect, test } from 'vitest'
import { acquireLock } from '../../src/embedded/lock.ts'
import { identityOf } from '../../src/embedded/os-process.ts'
import { temporaryFolder } from '../support/data-dir.ts'

const folder = await temporaryFolder()
afterAll(() => folder.remove())
const path = join(folder.path, 'service.lock')

/** Returns the identity of a process that has ended. */
async function deadProcess() {
  const child = spawn('sleep', ['60'])
  await once(child, 'spawn')
  const identity = await identityOf(child.pid!)
  child.kill('SIGKILL')
  await once(child, 'exit')
  return identity
}

test('a lock is held until it is released', async () => {
  const lock = await acquireLock(path)
  await expect(acquireLock(path)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining(`already running (pid ${process.pid})`) as string,
  })
  await lock.release()
  const again = await acquireLock(path)
  await again.release()
  expect(await readdir(folder.path)).toEqual([])
})

test('the lock of a dead owner goes to exactly one of many', async () => {
  const owner = JSON.stringify(await deadProcess())
  for (let round = 0; round < 50; round++) {
    await writeFile(path, owner)
    const tries = await Promise.allSettled(Array.from({ length: 8 }, () => acquireLock(path)))
    const won = tries.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    expect(won).toHaveLength(1)
    await won[0]!.release()
  }
  expect(await readdir(folder.path)).toEqual([])
})

test('a process that only has the number of a dead owner does not hold its lock', async () => {
  const { pid, startTicks } = (await identityOf(process.pid))!
  if (startTicks === null) return expect(process.platform).not.toBe('linux')
  await writeFile(path, JSON.stringify({ pid, startTicks: startTicks - 1 }))
  const lock = await acquireLock(path)
  await lock.release()
})

test('a takeover that died half-way is gone on with', async () => {
  const owner = JSON.stringify(await deadProcess())
  await writeFile(path, owner)
  await writeFile(`${path}.takeover`, owner)
  const lock = await acquireLock(path)
  await lock.release()
  expect(await readdir(folder.path)).toEqual([])
})
