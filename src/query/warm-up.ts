import { eventNamesOf, PLAIN, PLAIN_STEP, type FunnelSpec } from '../analysis/funnel-spec.ts'
import { declareFunnel } from '../analysis/funnel.ts'
import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import { DAY_MS, monthOfDay } from '../event/day.ts'
import { encodeDocument, type SegmentRef } from '../segment/directory.ts'
import { sectionAlone } from '../segment/pack.ts'
import { emptyRoot, type Root } from '../segment/root.ts'
import { BLOOM, encodeSection, IDS, type SectionRows } from '../segment/section.ts'
import type { Objects } from '../store/objects.ts'
import { PAGE, type Snapshots } from '../store/snapshots.ts'
import type { FoldPool } from './fold-pool.ts'
import { neededProperties } from './funnel-read.ts'
import { openSegments } from './segments.ts'

/** Of no project, and the same for all processes: the first one that misses them writes them. */
const PROJECT = 'f01d0005-0000-4000-8000-000000000000'
const idOf = (index: number) => `f01d0005-0000-4000-8000-${String(index).padStart(12, '0')}`
const PAGE_ID = idOf(0)
/** A month whose milliseconds are beyond small integers, as those of all questions are. */
const FIRST_DAY = 20_028
const DAYS = 30
const END_DAY = FIRST_DAY + DAYS
// Names as long as real ones: the engine treats those of one letter otherwise.
const ROWS_BY_NAME = { made_up_a: 1_500, made_up_b: 500, made_up_c: 250 }
const PROPERTY = 'made_up'
/** By day: most have all names, some lack one or two. */
const NAMES = ['abc', 'abc', 'ab', 'abc', 'bc', 'abc', 'a', 'abc', 'c'] as const
/** By day: events of the same moment are rare, or are not. */
const GRIDS_MS = [1, 10_000, 1, 1_000]
/** Of the first day: a run of the length that a large project has, and an object of several packets. */
const LONG_ROWS = 20_000
const USERS = 131_072
const MEMORY_BYTES_MAX = 67_108_864
const ROUNDS = 10
const WARM_UP_MS_MAX = 5_000

/**
 * Asks made-up funnels of made-up segments, so that the engine has compiled what the first question of a new
 * process needs: without it that question takes half a second of processor time more.
 */
export async function warmUp(dependencies: {
  readonly snapshots: Snapshots
  readonly objects: Objects
  readonly pool: FoldPool
  readonly clock: Clock
}): Promise<void> {
  const { snapshots, objects, pool, clock } = dependencies
  const limits = { memoryBytesMax: MEMORY_BYTES_MAX, eventsMax: Infinity }
  const segments = openSegments({ snapshots, pool, cacheBytesMax: 0, ...limits })

  async function ask(spec: FunnelSpec): Promise<void> {
    const read = {
      projectId: PROJECT,
      range: { startMs: spec.entryStartMs, endMs: spec.entryEndMs },
      ...{ eventNames: eventNamesOf(spec), ...neededProperties(spec, null) },
      ...{ history: null, sample: 1 },
      nowMs: spec.entryEndMs,
      signal: AbortSignal.timeout(WARM_UP_MS_MAX),
    }
    const plan = await segments.plan(madeUpRoot(), read)
    const question = { analysis: 'funnel', spec } as const
    await segments.fold(read, plan, { funnel: declareFunnel(spec), question })
  }

  const [plain, filtered] = [[], [{ property: PROPERTY, op: 'eq' as const, value: 1 }]]
  const [first, ...others] = [
    specOf(plain, null),
    specOf(plain, null),
    specOf(filtered, null),
    specOf(plain, { property: PROPERTY, attribution: 'first', step: 0, limit: 10 }),
    // Those that look at chains one by one.
    specOf(filtered, { property: PROPERTY, attribution: 'last', step: 0, limit: 10 }),
    { ...specOf(plain, null), order: 'strict', timeToConvert: true },
  ] as [FunnelSpec, ...FunnelSpec[]]
  await ask(first).catch(async (error: unknown) => {
    if (!(error instanceof AppError) || error.code !== 'DATA_DAMAGED') throw error
    await writeMadeUp(objects)
  })
  const endMs = clock.monotonicMs() + WARM_UP_MS_MAX
  for (let round = 0; round < ROUNDS; round++)
    for (const spec of [first, ...others]) {
      if (clock.monotonicMs() > endMs) return
      await ask(spec)
    }
}

function specOf(
  where: FunnelSpec['steps'][number]['matchers'][number]['where'],
  breakdown: FunnelSpec['breakdown'],
): FunnelSpec {
  const [startMs, endMs] = [FIRST_DAY * DAY_MS, END_DAY * DAY_MS]
  return {
    ...PLAIN,
    steps: Object.keys(ROWS_BY_NAME).map((eventName, step) => ({
      ...PLAIN_STEP,
      matchers: [{ eventName, where: step === 0 ? where : [] }],
    })),
    windowMs: 2 * DAY_MS,
    ...{ entryStartMs: startMs, entryEndMs: endMs, lastEndMs: endMs, breakdown },
  }
}

function madeUpRoot(): Root {
  return {
    ...emptyRoot([0, 0], { hour: 0, sinceHour: 0 }),
    pages: { [monthOfDay(FIRST_DAY)]: PAGE_ID },
  }
}

async function writeMadeUp(objects: Objects): Promise<void> {
  const refs: SegmentRef[] = []
  for (let day = FIRST_DAY; day < END_DAY; day++)
    for (const [eventName, rowCount] of Object.entries(ROWS_BY_NAME)) {
      if (!NAMES[day % NAMES.length]!.includes(eventName.at(-1)!)) continue
      const isLong = refs.length === 0
      const encoded = encodeSection(madeUpRows(eventName, day, isLong ? LONG_ROWS : rowCount), 1)
      const segment = idOf(1 + refs.length)
      const read = [...encoded.columns].filter(([name]) => name !== IDS && name !== BLOOM)
      await objects.write({ projectId: PROJECT, object: segment }, read, 0)
      refs.push({
        ...{ segment, level: 1, readGroupCount: 1 },
        ...{ firstDay: day, lastDay: day, expiresDay: END_DAY + 1 },
        ...{ rowCount: encoded.section.rowCount, packBytes: 0, userCount: 0 },
        section: sectionAlone(encoded),
      })
    }
  const page = { projectId: PROJECT, object: PAGE_ID }
  await objects.write(page, [[PAGE, encodeDocument(refs)]], 0)
}

function madeUpRows(eventName: string, day: number, rowCount: number): SectionRows {
  const gridMs = GRIDS_MS[day % GRIDS_MS.length]!
  let state = day + rowCount
  const below = (end: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * end)
  }
  const drawn = (end: number) => Uint32Array.from({ length: rowCount }, () => below(end))
  return {
    ...{ eventName, day, rowCount, isCut: false, ids: new Uint32Array(2 * rowCount) },
    ...{ userNumber: drawn(USERS), timeMs: drawn(DAY_MS).map((ms) => ms - (ms % gridMs)) },
    properties: new Map([[PROPERTY, { codes: drawn(4), values: [null, 1, 2, 3] }]]),
  }
}
