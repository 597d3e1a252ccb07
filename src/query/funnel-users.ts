import { createHash } from 'node:crypto'
import { NONE, OTHER } from '../analysis/funnel-result.ts'
import type { UsersAsked } from '../analysis/funnel-users.ts'
import { declareFunnel } from '../analysis/funnel.ts'
import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import type { Metrics } from '../metrics.ts'
import type { Project } from '../store/projects.ts'
import type { Snapshots } from '../store/snapshots.ts'
import type { FunnelUsersQuery } from '../wire/funnel-users-query.ts'
import type { Admission } from './admission.ts'
import type { Freshness } from './freshness.ts'
import { foldRows } from './fold-rows.ts'
import { funnelRead, rangeOf, type FunnelRead } from './funnel-read.ts'
import type { Pin, Pins } from './pins.ts'
import type { RawEvents } from './raw-events.ts'
import { listRowUsers, type NamedUser } from './row-users.ts'
import { retriedOnce } from './retried-once.ts'
import type { SegmentUsers } from './segment-users.ts'
import type { SegmentValues } from './segment-values.ts'
import type { Segments } from './segments.ts'
import type { UserIds } from './user-ids.ts'

/** A user of a page. A list goes on after a user's `place`: the ordinal; the id, or the number where segments are asked. */
interface PlacedUser {
  readonly place: string
  readonly userId: string
  readonly enteredMs: number
  readonly reachedMs: number
}

interface Cursor {
  readonly pinId: string
  /** Of the last user of the page before. */
  readonly place: string
}

export type FunnelUserLists = ReturnType<typeof openFunnelUserLists>

/** A page of a list. Times are ISO 8601. */
export interface FunnelUsersPage {
  readonly users: readonly {
    readonly userId: string
    readonly enteredAt: string
    readonly reachedAt: string
  }[]
  readonly asOf: string
  /** Absent at the end. */
  readonly cursor?: string
}

/**
 * Lists the users behind a bar of a funnel, page by page. All pages are answered from the root of the first,
 * and with its time: they add up to the bar of that moment, whatever is sealed meanwhile. From raw rows, what
 * comes in between the pages is listed where it lies after the place that has been reached.
 */
export function openFunnelUserLists(dependencies: {
  readonly sources: {
    readonly rawEvents: RawEvents
    readonly segments: Segments
    readonly segmentUsers: SegmentUsers
    readonly segmentValues: SegmentValues
    readonly userIds: UserIds
    readonly freshness: Freshness
    readonly pins: Pins
    readonly snapshots: Snapshots
  }
  readonly admit: Admission
  readonly queryTimeoutMs: number
  readonly clock: Clock
  readonly metrics: Metrics
}) {
  const { sources, admit, queryTimeoutMs, clock, metrics } = dependencies
  const { rawEvents, segments, segmentUsers, segmentValues, userIds, freshness, pins, snapshots } =
    sources

  /** Decides what the pages of a list have in common. */
  async function begin(
    project: Project,
    query: FunnelUsersQuery,
    signal: AbortSignal,
  ): Promise<Pin> {
    const nowMs = clock.nowMs()
    // What is wrong with a question is told before anything is sealed for it.
    const pageRead = readOf(project, query, nowMs, signal)
    const { root, asOfMs } =
      query.source === 'events'
        ? { root: null, asOfMs: nowMs }
        : await freshness.view(project, query.freshness, signal)
    const pin = { question: questionOf(project, query), nowMs, asOfMs, root, shownValues: null }
    if (query.breakdownValue !== OTHER) return pin
    return { ...pin, shownValues: await shownValues(query, pin, pageRead) }
  }

  /** Returns the values that are not in `$other`: those with the most users, as the funnel counts them. */
  async function shownValues(
    { source }: FunnelUsersQuery,
    { root }: Pin,
    { read, spec }: FunnelRead,
  ): Promise<string[]> {
    const funnel = declareFunnel(spec)
    let counts = funnel.empty()
    if (source === 'events') {
      const plan = await rawEvents.plan(read)
      const { monotonicMs } = clock
      counts = (await foldRows(rawEvents, read, plan, { funnel, monotonicMs })).counts
    } else if (root !== null) {
      const question = { analysis: 'funnel', spec } as const
      const plan = await segments.plan(root, read)
      counts = (await segments.fold(read, plan, { funnel, question })).counts
    }
    const values = funnel.result(counts).breakdown!.map(({ value }) => value)
    return values.filter((value) => value !== OTHER && value !== NONE)
  }

  /** Returns one user more than the page takes, if there is one. */
  async function usersAfter(
    query: FunnelUsersQuery,
    { root, shownValues }: Pin,
    { read, spec }: FunnelRead,
    place: string | null,
  ): Promise<PlacedUser[]> {
    const { step, outcome, breakdownValue } = query
    const values = breakdownValue === undefined ? null : valuesOf(breakdownValue, shownValues)
    const asked: UsersAsked = { spec, step, outcome, values }
    const limit = query.limit + 1
    const after = place === null ? null : placeFrom(place)
    if (query.source === 'events') {
      const { users, eventCount } = await listRowUsers(rawEvents, read, { asked, after, limit })
      metrics.queryEvents.inc(eventCount)
      return users.map(placed)
    }
    if (root === null) return []
    if (read.countBy !== null) {
      const { users, eventCount } = await segmentValues(read, root, { asked, after, limit })
      metrics.queryEvents.inc(eventCount)
      return users.map(placed)
    }
    const page = {
      asked,
      after: after && { ...after, userNumber: userNumberOf(after.userId) },
      limit,
    }
    const { users, eventCount } = await segmentUsers(read, root, page)
    metrics.queryEvents.inc(eventCount)
    const numbers = users.map(({ userNumber }) => userNumber)
    const ids = await userIds(read.projectId, root, [...new Set(numbers)])
    return users.map(({ userNumber, ordinal, ...times }) => ({
      ...{ place: `${ordinal} ${userNumber}`, userId: ids.get(userNumber)!, ...times },
    }))
  }

  /**
   * Goes on with a list. The cursor may name any pin, so that is looked at too. Who was erased since is not listed
   * any more.
   */
  async function pinOf({ projectId }: Project, { pinId }: Cursor, question: string): Promise<Pin> {
    const pin = await pins.read(projectId, pinId)
    if (pin.question !== question) throw wrongCursor('not one of ours')
    if (pin.root === null) return pin
    const { root } = await snapshots.root(projectId)
    return { ...pin, root: { ...pin.root, erased: root?.erased ?? null } }
  }

  async function page(
    project: Project,
    query: FunnelUsersQuery,
    signal: AbortSignal,
  ): Promise<FunnelUsersPage> {
    const question = questionOf(project, query)
    const cursor = query.cursor === undefined ? null : cursorFrom(query.cursor, question)
    const pin =
      cursor === null ? await begin(project, query, signal) : await pinOf(project, cursor, question)
    const pageRead = readOf(project, query, pin.nowMs, signal)
    const found = await usersAfter(query, pin, pageRead, cursor?.place ?? null)
    const users = found.slice(0, query.limit)
    const answer = {
      users: users.map(({ userId, enteredMs, reachedMs }) => ({
        userId,
        enteredAt: new Date(enteredMs).toISOString(),
        reachedAt: new Date(reachedMs).toISOString(),
      })),
      asOf: new Date(pin.asOfMs).toISOString(),
    }
    if (found.length <= query.limit) return answer
    const pinId = cursor?.pinId ?? (await pins.write(project.projectId, pin))
    return { ...answer, cursor: cursorText({ pinId, place: users.at(-1)!.place }, question) }
  }

  return {
    /**
     * Returns a page, and the cursor of the next one while there are more. Throws INVALID_QUERY, CURSOR_EXPIRED,
     * QUERY_TOO_LARGE, OVERLOADED, QUERY_TIMEOUT, or CANCELLED once `gone` is aborted.
     */
    ask: (project: Project, query: FunnelUsersQuery, gone: AbortSignal) =>
      admit(() => {
        const signal = AbortSignal.any([gone, AbortSignal.timeout(queryTimeoutMs)])
        return retriedOnce(() => page(project, query, signal))
      }),
  }
}

function readOf(
  project: Project,
  query: FunnelUsersQuery,
  nowMs: number,
  signal: AbortSignal,
): FunnelRead {
  // Without a value to look for nothing is broken down.
  const breakdown = query.breakdownValue === undefined ? null : query.breakdown
  const asked = { ...query, breakdown, trend: null, compare: null, timeToConvert: false }
  return funnelRead(project, asked, rangeOf(project, query, nowMs), { nowMs, signal })
}

/** The values that the entry of a breakdown stands for, as `funnelResult` puts them together. */
function valuesOf(value: string, shownValues: readonly string[] | null): UsersAsked['values'] {
  const missing = [null, NONE]
  if (value === NONE) return { texts: missing, areAmong: true }
  if (value === OTHER) return { texts: [...shownValues!, ...missing], areAmong: false }
  return { texts: [value], areAmong: true }
}

/** Tells a question from others: its pages may differ in length only, and are of the same settings. */
function questionOf(
  { projectId, timeZone, retentionDays }: Project,
  query: FunnelUsersQuery,
): string {
  const { limit: _limit, cursor: _cursor, ...asked } = query
  const text = JSON.stringify([projectId, timeZone, retentionDays, asked])
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

function cursorText({ pinId, place }: Cursor, question: string): string {
  return Buffer.from(`${question} ${pinId} ${place}`).toString('base64url')
}

const CURSOR = /^([0-9a-f]{16}) ([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}) ([^]+)$/

function cursorFrom(text: string, question: string): Cursor {
  const [, asked, pinId, place] = CURSOR.exec(Buffer.from(text, 'base64url').toString()) ?? []
  if (pinId === undefined || place === undefined) throw wrongCursor('not one of ours')
  if (asked !== question) throw wrongCursor('of another question')
  return { pinId, place }
}

function placed(user: NamedUser): PlacedUser {
  return { place: `${user.ordinal} ${user.userId}`, ...user }
}

function placeFrom(place: string): { ordinal: number; userId: string } {
  const [, ordinal, userId] = /^(\d{1,9}) ([^]+)$/.exec(place) ?? []
  if (userId === undefined) throw wrongCursor('not one of ours')
  return { ordinal: Number(ordinal), userId }
}

function userNumberOf(text: string): number {
  const userNumber = /^\d{1,10}$/.test(text) ? Number(text) : NaN
  if (!(userNumber < 2 ** 32)) throw wrongCursor('not one of ours')
  return userNumber
}

function wrongCursor(message: string): AppError {
  return new AppError('INVALID_QUERY', `cursor: ${message}`, {
    faults: [{ path: 'cursor', message }],
  })
}
