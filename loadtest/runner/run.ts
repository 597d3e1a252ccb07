/** `npm run loadtest -- <script> [--node]`: k6 where there is one on the PATH, else the runner of this folder. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { runScript } from './run-script.ts'

const FOLDER = join(import.meta.dirname, '..')
const WRONG_USE = 2

const words = process.argv.slice(2)
const name = words.find((word) => !word.startsWith('-')) ?? ''
const path = join(FOLDER, `${name}.ts`)

if (!/^[a-z-]+$/.test(name) || !existsSync(path)) {
  process.stderr.write('npm run loadtest -- smoke|ingest|funnel|mixed|spike|soak [--node]\n')
  process.exitCode = WRONG_USE
} else {
  process.exitCode = !words.includes('--node') && isK6Here() ? runK6() : await runHere()
}

function isK6Here(): boolean {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.some((folder) => existsSync(join(folder, 'k6')))
}

function runK6(): number {
  return spawnSync('k6', ['run', path], { stdio: 'inherit' }).status ?? 1
}

async function runHere(): Promise<number> {
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  process.stderr.write(`k6 is not used; loadtest/runner runs ${name}\n`)
  return await runScript(path, {
    environment: process.env as Record<string, string>,
    print: (text) => process.stdout.write(`${text}\n`),
    printError: (text) => process.stderr.write(`${text}\n`),
    stop: stop.signal,
  })
}
