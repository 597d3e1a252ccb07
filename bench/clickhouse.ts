// ClickHouse beside us, on the same machine and the same data set. It is chdb: the whole of ClickHouse in
// one Python process, which clickhouse.py is.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { COUNTRIES, EVENT_NAMES, PLANS, type DataSet } from './data-set.ts'

export type EventName = (typeof EVENT_NAMES)[number]

export interface FunnelQuestion {
  readonly steps: readonly EventName[]
  readonly windowMs: number
  /** Counts only events with this value as the step of this index. */
  readonly filter?: {
    readonly step: number
    readonly property: 'country' | 'plan'
    readonly value: string
  }
  readonly breakdown?: 'country'
}

export interface FunnelCounts {
  /** How many users take at least each step. */
  readonly counts: readonly number[]
  /** The same by the value of the breakdown, where one was asked for. */
  readonly byValue?: Readonly<Record<string, readonly number[]>>
  /** Measured within the process, without the way there and back. */
  readonly seconds: number
}

export interface ClickHouseSize {
  /** On disk, all columns, marks and indexes. */
  readonly bytes: number
  readonly rows: number
  readonly parts: number
  readonly byColumn: Readonly<Record<string, number>>
}

export interface ClickHouse {
  readonly pid: number
  readonly version: string
  readonly threads: number
  readonly insertSeconds: number
  /** Of the merge into one part that follows the insert. */
  readonly optimizeSeconds: number
  /** One at a time. */
  readonly funnel: (question: FunnelQuestion) => Promise<FunnelCounts>
  readonly size: () => Promise<ClickHouseSize>
  /** Ends the process, and removes its data. */
  readonly close: () => Promise<void>
}

/** Starts ClickHouse with a data set loaded, in a folder of its own within `folder`. */
export async function openClickHouse({
  dataSet,
  folder,
}: {
  readonly dataSet: DataSet
  readonly folder: string
}): Promise<ClickHouse> {
  await mkdir(folder, { recursive: true })
  const own = await mkdtemp(join(folder, 'clickhouse-'))
  const { pid, ask, end } = startPython(own)
  async function close(): Promise<void> {
    await end()
    await rm(own, { recursive: true })
  }
  try {
    const { version, threads } = await ask<{ version: string; threads: number }>({
      kind: 'version',
    })
    await writeColumns(dataSet, own)
    const loaded = await ask<{ insertSeconds: number; optimizeSeconds: number }>({
      ...{ kind: 'load', startMs: dataSet.startMs },
      ...{ names: EVENT_NAMES, countries: COUNTRIES, plans: PLANS },
    })
    return {
      ...{ pid, version, threads, ...loaded, close },
      funnel: (question) => ask<FunnelCounts>({ kind: 'funnel', ...question }),
      size: () => ask<ClickHouseSize>({ kind: 'size' }),
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function writeColumns(dataSet: DataSet, folder: string): Promise<void> {
  const { userId, timeMs, name, country, plan } = dataSet
  for (const [column, values] of Object.entries({ userId, timeMs, name, country, plan }))
    await writeFile(join(folder, `${column}.bin`), values)
}

function startPython(folder: string) {
  const script = join(import.meta.dirname, 'clickhouse.py')
  const child = spawn('python3', [script, folder], { stdio: ['pipe', 'pipe', 'inherit'] })
  const failure = once(child, 'error').then(([error]: unknown[]) => {
    throw new Error('ClickHouse needs python3', { cause: error })
  })
  failure.catch(() => undefined)
  // Its end is told by the lines of its stdout ending.
  child.stdin.on('error', () => undefined)
  const ended = once(child, 'close').catch(() => undefined)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()

  async function ask<Answer>(question: object): Promise<Answer> {
    child.stdin.write(`${JSON.stringify(question)}\n`)
    const line = await Promise.race([lines.next(), failure])
    if (line.done === true) throw new Error('ClickHouse ended')
    const answer = JSON.parse(line.value) as Answer & { readonly error?: string }
    if (answer.error !== undefined) throw new Error(`ClickHouse: ${answer.error}`)
    return answer
  }

  return {
    pid: child.pid ?? 0,
    ask,
    async end(): Promise<void> {
      child.stdin.end()
      await ended
    },
  }
}
