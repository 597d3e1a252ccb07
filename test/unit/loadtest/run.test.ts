import { execFile } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../support/data-dir.ts'
import { ROOT } from '../../support/sources.ts'

const folder = await temporaryFolder()
afterAll(() => folder.remove())
await writeFile(join(folder.path, 'k6'), '#!/bin/sh\necho "$@, $RATE"\nexit 99\n')
await chmod(join(folder.path, 'k6'), 0o755)

/** As `npm run loadtest -- …` does, with a k6 on the PATH. */
async function run(...words: string[]): Promise<{ code: number; out: string; errors: string }> {
  const PATH = `${folder.path}${delimiter}${process.env['PATH']}`
  const env = {
    ...process.env,
    PATH,
    RATE: '7',
    ADMIN_KEY: 'none',
    READ_KEY: '',
    TARGET_URL: 'http://127.0.0.1:1',
  }
  const args = ['--import', 'tsx', 'loadtest/runner/run.ts', ...words]
  return await new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: ROOT, env }, (error, out, errors) =>
      resolve({ code: Number(error?.code ?? 0), out, errors }),
    )
  })
}

describe.concurrent('npm run loadtest', () => {
  test('runs k6 where there is one, with the same environment, and ends as it does', async () => {
    const { code, out } = await run('smoke')
    expect([code, out]).toEqual([99, `run ${join(ROOT, 'loadtest', 'smoke.ts')}, 7\n`])
  })

  test('runs the script itself where it is told to', async () => {
    const { code, errors } = await run('smoke', '--node')
    expect([code, errors]).toEqual([107, expect.stringContaining('no project was made')])
  })

  test.each([[[]], [['nothing']], [['../bench/run']], [['support/call']]])(
    'says how it is used when asked for %j',
    async (words) => {
      const { code, errors } = await run(...words)
      expect([code, errors]).toEqual([2, expect.stringContaining('smoke|ingest')])
    },
  )
})
