import { createHash } from 'node:crypto'
import { appendFile, mkdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'

const State = z.object({
  /** The first line that is not known to be taken or refused, nor any after it. */
  nextLine: z.number().int(),
  read: z.number().int(),
  accepted: z.number().int(),
  refused: z.number().int(),
  /** How much of the file of refused lines belongs to what lies before `nextLine`. */
  refusedSize: z.number().int(),
  isDone: z.boolean(),
})

/** How far an import is. Its counts are of the lines before `nextLine`. */
export type ImportState = z.output<typeof State>

/** A line that was not taken: why, and as it stands in the file. */
export interface RefusedLine {
  readonly line: number
  readonly code: string
  readonly reason: string
  readonly raw: string
}

export type ImportFiles = Awaited<ReturnType<typeof openImportFiles>>

/**
 * Opens what DATA_DIR keeps of an import: how far it is, and the lines that were refused. `identity` is
 * all that makes it the same import again. `earlier` is where an unfinished one goes on, null where the
 * import starts from the beginning.
 */
export async function openImportFiles(dataDir: string, identity: readonly string[]) {
  const folder = join(dataDir, 'imports')
  const name = createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 32)
  const [statePath, refusedPath] = ['.json', '.rejected.ndjson'].map((end) =>
    join(folder, name + end),
  ) as [string, string]
  await mkdir(folder, { recursive: true })
  const kept = await readState(statePath)
  const earlier = kept === null || kept.isDone ? null : kept
  // What was refused after the state was last kept is going to be refused again.
  if (earlier === null || earlier.refusedSize === 0) await rm(refusedPath, { force: true })
  else await truncate(refusedPath, earlier.refusedSize)

  return {
    earlier,
    refusedPath,

    /** Adds refused lines to their file, readable by its owner only; returns how many bytes that took. */
    async keepRefused(lines: readonly RefusedLine[]): Promise<number> {
      if (lines.length === 0) return 0
      const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
      await appendFile(refusedPath, bytes, { mode: 0o600 })
      return bytes.length
    },

    async save(state: ImportState): Promise<void> {
      await writeFile(`${statePath}.new`, `${JSON.stringify(state)}\n`)
      await rename(`${statePath}.new`, statePath)
    },
  }
}

async function readState(path: string): Promise<ImportState | null> {
  try {
    return State.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
