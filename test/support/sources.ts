import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, sep } from 'node:path'
import ts from 'typescript'
import { packageRoot } from '../../src/package-root.ts'

export const ROOT = packageRoot()

export function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** The TypeScript files of a folder of the project, by path within it, with forward slashes. */
export function sourcesOf(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return []
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll(sep, '/'))
    .filter((path) => path.endsWith('.ts'))
    .sort()
}

export interface Import {
  /** What it names: a file of `src`, or a package or `node:` module with its path. */
  readonly target: string
  readonly isOurs: boolean
}

/** What a file of `src` imports: plainly, for types, again exported, or when it runs. */
export function importsOf(file: string): Import[] {
  return importsWithin('src', file)
}

/** The same of a file of another folder; what is ours is named by its path within that folder. */
export function importsWithin(folder: string, file: string): Import[] {
  const { importedFiles } = ts.preProcessFile(read(`${folder}/${file}`))
  return importedFiles.map(({ fileName }) => {
    const isOurs = fileName.startsWith('.')
    return { isOurs, target: isOurs ? posix.join(dirname(file), fileName) : fileName }
  })
}
