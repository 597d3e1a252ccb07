import type { FunnelSpec } from '../analysis/funnel.ts'
import { AppError } from '../error.ts'
import { DAY_MS } from '../event/day.ts'
import { encodeValues } from '../segment/dictionary.ts'
import { FOLD_GROUP_USERS } from '../segment/place.ts'
import { TIME_HIGH, TIME_LOW, USER } from '../segment/section.ts'
import { splitTimes } from '../segment/times.ts'
import type { Objects } from '../store/objects.ts'
import type { Fetched, FetchTask, Folded, FoldTask, SharedSection } from './worker-messages.ts'

/** A day of these years: its milliseconds are beyond small integers, as those of all questions are. */
const FIRST_DAY = 20_000
const DAYS = 12
/** An object of no project, the same for all: made-up columns of the size that real ones have. */
const PROJECT = '*'
const OBJECT = 'f01d0000-0000-4000-8000-000000000000'
const OBJECT_ROWS = 122_880
const OBJECT_RUNS = 30
const READS = 36
const SMALL_READS = 480
const READS_IN_FLIGHT = 12
const ROWS_BY_NAME = { a: 6_000, b: 2_000, c: 1_000 }
const ROUNDS = 8
const END_MS = (FIRST_DAY + DAYS) * DAY_MS

/**
 * Reads and folds made-up events, so that the engine has compiled what the first question of a new process needs:
 * without it that question takes half a second of processor time more.
 */
export async function warmUp(
  objects: Objects,
  fetch: (task: FetchTask) => Promise<Fetched>,
  fold: (task: FoldTask) => Folded,
): Promise<void> {
  await readMadeUp(objects, fetch)
  const sections = Array.from({ length: DAYS }, (_, index) =>
    Object.entries(ROWS_BY_NAME)
      // Some days have one name, some have two, and some have all.
      .slice(0, 1 + (index % 4))
      .map(([eventName, rowCount]) =>
        madeUpSection(eventName, FIRST_DAY + index, Math.ceil(rowCount / (1 + (index % 3)))),
      ),
  ).flat()
  const [plain, filtered] = [[], [{ property: 'p', op: 'eq' as const, value: 1 }]]
  for (let round = 0; round < ROUNDS; round++)
    for (const spec of [
      specOf(plain, null),
      specOf(plain, null),
      specOf(filtered, null),
      specOf(plain, { property: 'p', limit: 10 }),
    ])
      fold({
        ...{ kind: 'fold', question: { analysis: 'funnel', spec } },
        ...{ sections, foldGroups: [0], erased: [] },
      })
}

/** Reads an object again and again; the first process that finds it missing writes it. */
async function readMadeUp(
  objects: Objects,
  fetch: (task: FetchTask) => Promise<Fetched>,
): Promise<void> {
  const runRows = Array.from({ length: OBJECT_RUNS }, () => OBJECT_ROWS / OBJECT_RUNS)
  const timeMs = new Uint32Array(OBJECT_ROWS)
  for (let row = 0; row < OBJECT_ROWS; row++)
    timeMs[row] = Math.floor(((row % runRows[0]!) / runRows[0]!) * DAY_MS)
  const { low, high } = splitTimes(timeMs, runRows)!
  const columns = [
    [USER, new Uint8Array(2 * OBJECT_ROWS)],
    [TIME_LOW, new Uint8Array(low.buffer)],
    [TIME_HIGH, new Uint8Array(high.buffer)],
  ] as const
  const range = (column: string, { length: bytes }: Uint8Array) => ({
    ...{ key: column, column, offset: 0, bytes },
  })
  const [user, timeLow, timeHigh] = columns.map(([name, bytes]) => range(name, bytes))
  const times = [{ key: 'time', low: timeLow!, high: timeHigh!, runRows }]
  const object = { object: OBJECT, ranges: [user!], times, areWhole: true }
  const read = () => fetch({ kind: 'fetch', projectId: PROJECT, objects: [object] })
  try {
    await read()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'DATA_DAMAGED') throw error
    await objects.write({ projectId: PROJECT, object: OBJECT }, columns, 0)
  }
  // Most of what is compiled is run once a read, whatever its size.
  const small = { object: OBJECT, ranges: [timeHigh!], times: [], areWhole: true }
  const readSmall = () => fetch({ kind: 'fetch', projectId: PROJECT, objects: [small] })
  const readOften = async () => {
    for (let reads = 0; reads < SMALL_READS / READS_IN_FLIGHT; reads++) await readSmall()
    for (let reads = 0; reads < READS / READS_IN_FLIGHT; reads++) await read()
  }
  await Promise.all(Array.from({ length: READS_IN_FLIGHT }, readOften))
}

function specOf(
  where: FunnelSpec['steps'][number]['matchers'][number]['where'],
  breakdown: FunnelSpec['breakdown'],
): FunnelSpec {
  return {
    steps: Object.keys(ROWS_BY_NAME).map((eventName, step) => ({
      matchers: [{ eventName, where: step === 0 ? where : [] }],
    })),
    windowMs: 2 * DAY_MS,
    ...{ entryStartMs: FIRST_DAY * DAY_MS, entryEndMs: END_MS, lastEndMs: END_MS, breakdown },
  }
}

function madeUpSection(eventName: string, day: number, rowCount: number): SharedSection {
  const timeMs = new SharedArrayBuffer(4 * rowCount)
  const user = new SharedArrayBuffer(2 * rowCount)
  const codes = new SharedArrayBuffer(rowCount)
  const values = encodeValues([null, 1, 2, 3])
  const stored = new SharedArrayBuffer(values.length)
  new Uint8Array(stored).set(values)
  const times = new Uint32Array(timeMs)
  const users = new Uint16Array(user)
  const codesOf = new Uint8Array(codes)
  let state = day + rowCount
  for (let row = 0; row < rowCount; row++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    times[row] = Math.floor((row / rowCount) * DAY_MS)
    users[row] = (state >>> 8) % FOLD_GROUP_USERS
    codesOf[row] = state >>> 30
  }
  return {
    ...{ eventName, day, rowCount, timeMs, user, runs: [0, 0, rowCount] },
    properties: [{ path: 'p', codes, codeBytes: 1, values: stored, key: 'warm-up' }],
  }
}
