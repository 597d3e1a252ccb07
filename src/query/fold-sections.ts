import { LRUCache } from 'lru-cache'
import { declareFunnelUsers, type FunnelUsers, type UsersAsked } from '../analysis/funnel-users.ts'
import { declareFunnel, type Funnel } from '../analysis/funnel.ts'
import type { FunnelCounts } from '../analysis/tally.ts'
import { groupBy } from '../group-by.ts'
import type { CodedColumn, DayRuns, Run, Value } from '../segment/columns.ts'
import { codesView, decodeValues } from '../segment/dictionary.ts'
import { leaveOut, leftOutOfSample, type LeftOut } from '../segment/leave-out.ts'
import { FOLD_GROUP_USERS } from '../segment/place.ts'
import { mergeBounded } from './merge-bounded.ts'
import type {
  Folded,
  FoldQuestion,
  FoldTask,
  LeftOutUsers,
  Listed,
  ListTask,
  SharedSection,
} from './worker-messages.ts'

const VALUES_BYTES_MAX = 33_554_432
/** Of analyses that are ready to fold: what they have compiled and allocated is used again. */
const QUESTIONS_MAX = 8

type SharedProperty = SharedSection['properties'][number]

/** A section whose columns are views of shared memory. */
interface ViewedSection {
  readonly day: number
  readonly whole: Run
  /** By fold group: pairs of first row and row after the last. */
  readonly rowsOf: ReadonlyMap<number, readonly number[]>
}

/** Folds fold groups of sections, one after the other. */
export function openFolds(monotonicMs: () => number) {
  const decoded = new LRUCache<string, (Value | null)[]>({
    maxSize: VALUES_BYTES_MAX,
    sizeCalculation: (values) => 8 + 40 * values.length,
  })
  const funnels = new LRUCache<string, Funnel>({ max: QUESTIONS_MAX })
  const lists = new LRUCache<string, FunnelUsers>({ max: QUESTIONS_MAX })

  function funnelOf({ spec }: FoldQuestion): Funnel {
    const key = JSON.stringify(spec)
    let funnel = funnels.get(key)
    if (funnel === undefined) funnels.set(key, (funnel = declareFunnel(spec)))
    return funnel
  }

  function listOf(asked: UsersAsked): FunnelUsers {
    const key = JSON.stringify(asked)
    let list = lists.get(key)
    if (list === undefined) lists.set(key, (list = declareFunnelUsers(asked)))
    return list
  }

  function propertyOf({ key, values: stored, codes, codeBytes }: SharedProperty): CodedColumn {
    let values = decoded.get(key)
    // Copied: inflating takes no shared memory.
    if (values === undefined)
      decoded.set(key, (values = decodeValues(Uint8Array.from(new Uint8Array(stored)))))
    return { codes: codesView(new Uint8Array(codes), codeBytes), values }
  }

  function viewed(section: SharedSection): ViewedSection {
    const { eventName, day, rowCount, timeMs, user, runs } = section
    const rowsOf = new Map<number, number[]>()
    for (let at = 0; at < runs.length; at += 3) {
      const rows = rowsOf.get(runs[at]!)
      if (rows === undefined) rowsOf.set(runs[at]!, [runs[at + 1]!, runs[at + 2]!])
      else rows.push(runs[at + 1]!, runs[at + 2]!)
    }
    return {
      day,
      rowsOf,
      whole: {
        ...{ eventName, rowCount },
        timeMs: new Uint32Array(timeMs),
        user: new Uint16Array(user),
        properties: new Map(
          section.properties.map((property) => [property.path, propertyOf(property)]),
        ),
      },
    }
  }

  return {
    fold({ question, sections, foldGroups, ...leftOut }: FoldTask): Folded {
      const startMs = monotonicMs()
      const funnel = funnelOf(question)
      const days = byDay(sections.map(viewed))
      const leftOutOf = openLeftOut(leftOut)
      let counts: FunnelCounts = funnel.empty()
      for (const foldGroup of foldGroups) {
        const group = funnel.openGroup(FOLD_GROUP_USERS)
        foldDays(group, days, foldGroup, leftOutOf(foldGroup))
        counts = mergeBounded(funnel, counts, group.close())
      }
      return { counts, foldMs: monotonicMs() - startMs }
    },

    list({ asked, sections, foldGroups, after, limit, ...leftOut }: ListTask): Listed {
      const list = listOf(asked)
      const leftOutOf = openLeftOut(leftOut)
      const days = byDay(sections.map(viewed))
      const groups = foldGroups.map((foldGroup) => {
        const group = list.openGroup(FOLD_GROUP_USERS)
        foldDays(group, days, foldGroup, leftOutOf(foldGroup))
        const first =
          foldGroup === after?.foldGroup ? { user: after.position, ordinal: after.ordinal } : null
        return { foldGroup, users: group.close(first, limit) }
      })
      return { groups }
    },
  }
}

function foldDays(
  group: { readonly fold: (day: DayRuns) => void },
  days: readonly [number, ViewedSection[]][],
  foldGroup: number,
  leftOut: LeftOut | null,
): void {
  for (const [day, ofDay] of days) {
    const runs: Run[] = []
    for (const section of ofDay) addRuns(runs, section, foldGroup, leftOut)
    if (runs.length > 0) group.fold({ day, runs })
  }
}

/** Tells who is left out of a fold group; null where nobody is. */
function openLeftOut({ erased, sampled }: LeftOutUsers) {
  const erasedOf = new Map<number, number[]>()
  for (let at = 0; at < erased.length; at += 2) {
    const positions = erasedOf.get(erased[at]!)
    if (positions === undefined) erasedOf.set(erased[at]!, [erased[at + 1]!])
    else positions.push(erased[at + 1]!)
  }
  return (foldGroup: number): LeftOut | null => {
    const positions = erasedOf.get(foldGroup) ?? []
    if (sampled === null && positions.length === 0) return null
    const leftOut =
      sampled === null ? new Uint8Array(FOLD_GROUP_USERS) : leftOutOfSample(foldGroup, sampled)
    for (const position of positions) leftOut[position] = 1
    return leftOut
  }
}

function byDay(sections: readonly ViewedSection[]): [number, ViewedSection[]][] {
  return [...groupBy(sections, ({ day }) => day)].sort(([a], [b]) => a - b)
}

/** Adds the rows of a section that are of a fold group, but for users who are left out. */
function addRuns(
  runs: Run[],
  { whole, rowsOf }: ViewedSection,
  foldGroup: number,
  leftOut: LeftOut | null,
): void {
  const rows = rowsOf.get(foldGroup)
  if (rows === undefined) return
  for (let at = 0; at < rows.length; at += 2) {
    const run = cut(whole, rows[at]!, rows[at + 1]!)
    const kept = leftOut === null ? run : leaveOut(run, leftOut)
    if (kept.rowCount > 0) runs.push(kept)
  }
}

function cut({ eventName, timeMs, user, properties }: Run, from: number, to: number): Run {
  const ofRows = new Map<string, CodedColumn>()
  for (const [path, { codes, values }] of properties)
    ofRows.set(path, { codes: codes.subarray(from, to), values })
  return {
    ...{ eventName, rowCount: to - from },
    timeMs: timeMs.subarray(from, to),
    user: user.subarray(from, to),
    properties: ofRows,
  }
}
