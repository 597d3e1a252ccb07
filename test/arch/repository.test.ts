import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { read, ROOT } from '../support/sources.ts'

// In parts, so as not to find themselves.
const REGISTRY = new RegExp(
  ['\\bregistry\\.(npmjs|yarnpkg)\\b', '\\bnpm\\.pkg\\b', '_auth' + 'Token', '^registry *='].join(
    '|',
  ),
  'm',
)
const NOTES = new RegExp(['(\\.\\.|/work)', 'shared\\b'].join('/'))

const git = (...parts: string[]) => execFileSync('git', parts, { cwd: ROOT, encoding: 'utf8' })
const tracked = git('ls-files', '-z', '--cached', '--others', '--exclude-standard')
  .split('\0')
  .filter((file) => file !== '' && existsSync(join(ROOT, file)))
const placesOf = (pattern: RegExp) => tracked.filter((file) => pattern.test(read(file)))

describe('the repository', () => {
  test('names no package registry', () => {
    expect(placesOf(REGISTRY)).toEqual([])
  })

  test('refers to nothing outside itself', () => {
    expect(placesOf(NOTES)).toEqual([])
  })

  test('locks packages by their content, not by where they came from', () => {
    const lock = read('package-lock.json')
    expect(lock).not.toContain('"resolved"')
    const { packages } = JSON.parse(lock) as { packages: Record<string, { integrity?: string }> }
    const loose = Object.entries(packages).filter(
      ([path, { integrity }]) => path !== '' && integrity === undefined,
    )
    expect(loose).toEqual([])
  })

  test('has every npm script that its documents tell of', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const told = tracked
      .filter((file) => file.endsWith('.md') && !file.startsWith('CHANGELOG'))
      .flatMap((file) => [...read(file).matchAll(/\bnpm (?:run ([\w:-]+)|(test|start)\b)/g)])
      .map(([, run, short]) => run ?? short!)
    expect(told).toContain('test')
    expect(told.filter((name) => !(name in scripts))).toEqual([])
  })

  test('has every file that its documents point to', () => {
    const broken = tracked
      .filter((file) => file.endsWith('.md'))
      .flatMap((file) =>
        [...read(file).matchAll(/\]\((?!https?:)([^)#]+)/g)]
          .map(([, target]) => join(file, '..', target!))
          .filter((target) => !existsSync(join(ROOT, target)))
          .map((target) => `${file} -> ${target}`),
      )
    expect(broken).toEqual([])
  })
})
